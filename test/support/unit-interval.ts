import fc from 'fast-check'

const parts = 2 ** 30

/** At least 0 and below 1, evenly: half of what `fc.double` gives between 0 and 1 is smaller than 1e-150. */
export const capacityOfAWhole: fc.Arbitrary<number> = fc.nat(parts - 1).map((part) => part / parts)
