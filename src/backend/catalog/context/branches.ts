import { CatalogError, quoteForMessage } from 'catalog-gateway/catalog-api'

/** The branch of requests that name none. */
export const mainBranch = 'main'

/** Maps an absent or empty branch to `main`. */
export function normalizeBranch(branch: string | null | undefined): string {
  return branch || mainBranch
}

export function branchNotFoundError(branch: string): CatalogError {
  return new CatalogError('TableBranchNotFound', `the table has no branch ${quoteForMessage(branch)}`)
}
