const { DIFFERENTIAL_REQUESTS: requests, DIFFERENTIAL_SEED: chosen } = process.env

/** The same seed makes the same requests, whatever becomes of them; what passes once passes always. */
export const seed = Number(chosen ?? 1)

/** How many exchanges; by hand `DIFFERENTIAL_REQUESTS=100000 DIFFERENTIAL_SEED=7 npx vitest run test/differential`. */
export function amount(usual: number): number {
  return Number(requests ?? usual)
}
