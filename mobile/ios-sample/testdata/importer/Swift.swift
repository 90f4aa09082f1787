// A standard library with no more than what the importer of Objective-C looks up. Swift for Linux lacks
// AutoreleasingUnsafeMutablePointer, and imports no method with an NSError**.
@frozen public enum Optional<Wrapped> { case none; case some(Wrapped) }
@frozen public struct Bool { var v: Builtin.Int1 }
@frozen public struct Int { var v: Builtin.Int64 }
@frozen public struct Int8 { var v: Builtin.Int8 }
@frozen public struct UInt8 { var v: Builtin.Int8 }
@frozen public struct Int16 { var v: Builtin.Int16 }
@frozen public struct Int32 { var v: Builtin.Int32 }
@frozen public struct UInt32 { var v: Builtin.Int32 }
@frozen public struct Int64 { var v: Builtin.Int64 }
@frozen public struct UInt64 { var v: Builtin.Int64 }
@frozen public struct UInt { var v: Builtin.Int64 }
@frozen public struct Double { var v: Builtin.FPIEEE64 }
@frozen public struct Float { var v: Builtin.FPIEEE32 }
@frozen public struct UnsafeMutablePointer<Pointee> { var p: Builtin.RawPointer }
@frozen public struct UnsafePointer<Pointee> { var p: Builtin.RawPointer }
@frozen public struct UnsafeMutableRawPointer { var p: Builtin.RawPointer }
@frozen public struct UnsafeRawPointer { var p: Builtin.RawPointer }
@frozen public struct OpaquePointer { var p: Builtin.RawPointer }
@frozen public struct AutoreleasingUnsafeMutablePointer<Pointee> { var p: Builtin.RawPointer }
@frozen public struct Unmanaged<Instance: AnyObject> { }
public typealias AnyObject = Builtin.AnyObject
public typealias Void = ()
public typealias CBool = Bool
public typealias CChar = Int8
public typealias CSignedChar = Int8
public typealias CUnsignedChar = UInt8
public typealias CShort = Int16
public typealias CInt = Int32
public typealias CUnsignedInt = UInt32
public typealias CLong = Int
public typealias CUnsignedLong = UInt
public typealias CLongLong = Int64
public typealias CUnsignedLongLong = UInt64
public typealias CFloat = Float
public typealias CDouble = Double
public protocol Error {}
public protocol Hashable {}
public protocol Equatable {}
public protocol RawRepresentable {}
public protocol CVarArg {}
