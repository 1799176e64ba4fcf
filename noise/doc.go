// Package noise draws exact integer noise from a cryptographic source and says, as an event, what it drew.
//
// Sensitivity and scale go in, noisy integers and an event come out. The package knows neither plans nor budgets:
// its caller has paid for the event. Samples follow the stated law exactly. No float decides anything that it cannot
// prove. Laws, quantiles and variances are functions of public parameters. There is no seed, no way to turn the
// noise off, and no other source than crypto/rand. If that fails, so does the call. Zero values of this package's
// types give errors.
//
// The samplers are those of Canonne, Kamath, Steinke, "The Discrete Gaussian for Differential Privacy" (2020),
// section 5. These mechanisms choose instead of adding noise:
//
//   - Threshold: a bound, by the sparse vector technique
//   - Watch: the looks at which a count is above a threshold, by the same
//   - BoundSelector: a cap, by the exponential mechanism
//   - PermuteAndFlip: the most frequent values
//   - Selection of groups
package noise
