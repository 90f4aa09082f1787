package attack

import "context"

// calm runs no attack: it shows what the measurement itself finds.
func calm() Scenario {
	return Scenario{
		Name: "calm", Daemons: true,
		About: "does nothing: what is measured when nobody attacks",
		Run: onField(plain, func(ctx context.Context, f *field) ([]Bar, error) {
			if err := f.learning(ctx, f.several(3, 4)); err != nil {
				return nil, err
			}
			return f.flood(ctx, "nobody attacks", func(ctx context.Context) { <-ctx.Done() })
		}),
	}
}
