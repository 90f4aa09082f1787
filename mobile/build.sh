#!/usr/bin/env bash
# Makes the bindings of package mobile for apps. mobile/build.sh --help says how.
set -euo pipefail

usage() {
	cat <<'END'
Makes the bindings of package mobile for apps, with gomobile in the version that
go.mod names.

usage: mobile/build.sh [--out DIR] [--arch LIST] android
       mobile/build.sh [--out DIR] ios

  android   p2pnode.aar and p2pnode-sources.jar (Java package org.p2pnode.mobile).
            Needs a JDK and the Android SDK (ANDROID_HOME) with a platform of API
            level 24 or later and an NDK, release 28 or later for Google Play.
  ios       P2PNode.xcframework for devices and simulators (import P2PNode; the
            names begin with P2PMobile). Needs a Mac with Xcode.

  --out DIR    where to put it (mobile/build)
  --arch LIST  processors for android: arm64 for phones, amd64 for the emulator on
               a PC, arm for phones of 32 bits (arm64,amd64)

examples:
  mobile/build.sh android
  ANDROID_HOME=~/Android/Sdk mobile/build.sh --arch arm64 --out app/libs android
  mobile/build.sh ios
END
}

fail() { printf 'mobile/build.sh: %s\n' "$1" >&2; exit "${2:-1}"; }
need() { [ "$1" -ge 2 ] || fail "$2 needs a value; see --help" 2; }

api=24 # of Android, as in the sample app
ios=16.0
target="" out="" arch=arm64,amd64
while [ $# -gt 0 ]; do
	case $1 in
	-h | --help) usage; exit ;;
	--out) need $# "$1"; out=$2; shift ;;
	--arch) need $# "$1"; arch=$2; shift ;;
	android | ios) target=$1 ;;
	*) fail "$1 is neither android nor ios nor an option; see --help" 2 ;;
	esac
	shift
done
[ -n "$target" ] || { usage >&2; exit 2; }

if [ -n "$out" ]; then mkdir -p "$out"; out=$(cd "$out" && pwd); fi
cd "$(dirname "$0")/.."
[ -n "$out" ] || { out=$PWD/mobile/build; mkdir -p "$out"; }

# What gomobile would say late or not at all.
android_is_there() {
	command -v javac >/dev/null || fail "no javac: install a JDK, version 17 for example"
	if [ -z "${ANDROID_HOME:-}" ]; then
		for dir in ~/Android/Sdk ~/Library/Android/sdk; do
			[ ! -d "$dir" ] || export ANDROID_HOME=$dir
		done
	fi
	[ -d "${ANDROID_HOME:-}" ] || fail "no Android SDK: set ANDROID_HOME to its directory (Android Studio shows it under Settings, Android SDK)"
	local platform found=""
	for platform in "$ANDROID_HOME"/platforms/android-*/android.jar; do
		platform=${platform%/android.jar} platform=${platform##*/android-} platform=${platform%%[!0-9]*}
		[ "${platform:-0}" -lt $api ] || found=yes
	done
	[ -n "$found" ] || fail "no Android platform of level $api or later in $ANDROID_HOME/platforms: sdkmanager 'platforms;android-35'"
	local ndk
	for ndk in "${ANDROID_NDK_HOME:-}" "$ANDROID_HOME"/ndk/* "$ANDROID_HOME"/ndk-bundle; do
		[ ! -d "$ndk" ] || return 0
	done
	fail "no NDK in $ANDROID_HOME/ndk: sdkmanager 'ndk;28.2.13676358', or set ANDROID_NDK_HOME"
}

xcode_is_there() {
	[ "$(uname)" = Darwin ] || fail "the framework for iOS can only be made on a Mac with Xcode; this is $(uname)"
	xcrun xcodebuild -version >/dev/null 2>&1 ||
		fail "no Xcode: install it, open it once, and choose it with: sudo xcode-select -s /Applications/Xcode.app"
}

command -v go >/dev/null || fail "no Go: install the version that go.mod names, from https://go.dev/dl"
case $target in
android) android_is_there ;;
ios) xcode_is_there ;;
esac
# Without the list of all modules gomobile goes on with an empty go.mod.
modules=$(go list -m all 2>&1 >/dev/null) || fail "go list -m all, which gomobile relies on, fails: $modules"

tools=$(mktemp -d)
trap 'rm -rf "$tools"' EXIT
GOBIN=$tools go install golang.org/x/mobile/cmd/gomobile golang.org/x/mobile/cmd/gobind
PATH=$tools:$PATH

version=$(git describe --tags --always --dirty 2>/dev/null || echo unknown)
stamp="-s -w -X p2pnode/mobile.version=$version"
case $target in
android)
	# One of libp2p's dependencies reaches into the runtime, which the linker allows
	# only when told. Android 15 has devices with memory pages of 16 KB.
	gomobile bind -target "android/${arch//,/,android/}" -androidapi $api -javapkg org.p2pnode -trimpath \
		-tags nethttpomithttp2 -ldflags "-checklinkname=0 -extldflags=-Wl,-z,max-page-size=16384 $stamp" -o "$out/p2pnode.aar" ./mobile
	du -h "$out"/p2pnode*
	;;
ios)
	gomobile bind -target ios,iossimulator -iosversion $ios -prefix P2P -trimpath \
		-tags nethttpomithttp2 -ldflags "$stamp" -o "$out/P2PNode.xcframework" ./mobile
	du -sh "$out/P2PNode.xcframework"
	;;
esac
printf 'version %s\n' "$version"
