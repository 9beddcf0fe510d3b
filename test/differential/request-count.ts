const { DIFFERENTIAL_REQUESTS: requests } = process.env

/** Number of inputs. Example: `DIFFERENTIAL_REQUESTS=100000 TEST_SEED=7 npx vitest run test/differential`. */
export function requestCount(defaultCount: number): number {
  return Number(requests ?? defaultCount)
}
