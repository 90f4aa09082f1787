import Foundation

/// What the model sees of the accelerometer: 18 numbers of a window of 128 samples at 50 Hz, in the
/// order of activity.toml. The Android sample has the same arithmetic in WindowFeatures.java:
/// phones of both kinds learn from each other, so change both or none.
enum WindowFeatures {
    static let samples = 128
    static let hertz = 50

    private static let gravity = 9.81 // m/s^2
    private static let shortest = hertz / 4, longest = hertz + 1 // periods looked for, in samples
    private static let still = 0.02 // m/s^2; a deviation below it is the sensor's noise

    /// The features of a window; x, y, z hold `samples` numbers in m/s^2, gravity included: a phone
    /// that lies on its back feels +9.81 along z.
    static func of(_ x: [Double], _ y: [Double], _ z: [Double]) -> [Double] {
        let mx = mean(x), my = mean(y), mz = mean(z)
        let vx = variance(x, mx), vy = variance(y, my), vz = variance(z, mz)
        let g = (mx * mx + my * my + mz * mz).squareRoot()
        var length = [Double](), up = [Double]()
        for i in 0..<samples {
            length.append((x[i] * x[i] + y[i] * y[i] + z[i] * z[i]).squareRoot())
            up.append(g > 0 ? (x[i] * mx + y[i] * my + z[i] * mz) / g : 0)
        }
        let m = mean(length), spread = variance(length, m), dev = spread.squareRoot()
        var lowest = m, highest = m, cubes = 0.0, steps = 0.0, crossings = 0.0
        for i in 0..<samples {
            lowest = min(lowest, length[i])
            highest = max(highest, length[i])
            cubes += pow(length[i] - m, 3) / Double(samples)
            if i > 0 {
                steps += pow(length[i] - length[i - 1], 2) / Double(samples - 1)
                if (length[i] > m) != (length[i - 1] > m) { crossings += 1 }
            }
        }
        var period = shortest
        for lag in shortest...longest where repeats(length, m, lag) > repeats(length, m, period) {
            period = lag
        }
        let quiet = still * still
        return [
            mx / gravity, my / gravity, mz / gravity,
            scale(vx.squareRoot()), scale(vy.squareRoot()), scale(vz.squareRoot()),
            scale(dev), scale(m - lowest), scale(highest - m), scale(steps.squareRoot()),
            (steps / (dev * dev + quiet)).squareRoot() / 2,
            cubes / pow(dev + still, 3) / 3,
            crossings / Double(samples - 1),
            variance(up, mean(up)) / (vx + vy + vz + quiet),
            Double(hertz) / Double(period) / 4,
            repeats(length, m, period), repeats(length, m, 2 * period), repeats(length, m, shortest),
        ]
    }

    /// 0 for nothing, 1 for about 19 m/s^2.
    private static func scale(_ deviation: Double) -> Double { log1p(deviation) / 3 }

    private static func mean(_ v: [Double]) -> Double { v.reduce(0, +) / Double(v.count) }

    private static func variance(_ v: [Double], _ mean: Double) -> Double {
        v.reduce(0) { sum, e in sum + (e - mean) * (e - mean) } / Double(v.count)
    }

    /// The autocorrelation at a lag; the sensor's noise counts as motion that never repeats.
    private static func repeats(_ v: [Double], _ mean: Double, _ lag: Int) -> Double {
        var products = 0.0
        for i in lag..<v.count { products += (v[i] - mean) * (v[i - lag] - mean) }
        return products / Double(v.count - lag) / (variance(v, mean) + still * still)
    }
}
