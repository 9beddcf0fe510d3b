import fc from 'fast-check'

const parts = 2 ** 30

/** Uniform from 0 to below 1: half of the values of `fc.double` between 0 and 1 are smaller than 1e-150. */
export const unitInterval: fc.Arbitrary<number> = fc.nat(parts - 1).map((part) => part / parts)
