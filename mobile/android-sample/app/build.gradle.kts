plugins {
    id("com.android.application")
    id("org.jetbrains.kotlin.android")
}

android {
    namespace = "org.example.activity"
    compileSdk = 35

    defaultConfig {
        applicationId = "org.example.activity"
        minSdk = 24
        targetSdk = 35
        versionCode = 1
        versionName = "1"
    }

    // The task itself, so that the app and the daemon cannot differ.
    sourceSets["main"].assets.srcDir("../../../docs/tasks")

    compileOptions {
        sourceCompatibility = JavaVersion.VERSION_1_8
        targetCompatibility = JavaVersion.VERSION_1_8
    }

    kotlinOptions {
        jvmTarget = "1.8"
    }
}

dependencies {
    implementation(files("libs/p2pnode.aar"))
    implementation("androidx.work:work-runtime:2.9.1")
}
