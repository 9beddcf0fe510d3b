const { DIFFERENTIAL_REQUESTS: requests } = process.env

/** How many exchanges; by hand `DIFFERENTIAL_REQUESTS=100000 TEST_SEED=7 npx vitest run test/differential`. */
export function amount(usual: number): number {
  return Number(requests ?? usual)
}
