// Comes after WindowFeatures.swift. Prints what Main.java prints.
var s = 1
for w in 0..<50 {
    var v = [[Double]](repeating: [Double](repeating: 0, count: WindowFeatures.samples), count: 3)
    for i in 0..<WindowFeatures.samples {
        for k in 0..<3 {
            s = (s * 1103515245 + 12345) % 2147483648
            let wave = Double(w % 5) * sin(0.05 * Double(1 + w % 7) * Double(i) * Double(k + 1))
            v[k][i] = (k == w % 3 ? 9.81 : 0.3) + wave + Double(w % 4) * 0.7 * (Double(s) / 2147483648 - 0.5)
        }
    }
    for f in WindowFeatures.of(v[0], v[1], v[2]) { print(f) }
}
