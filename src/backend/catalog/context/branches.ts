import { CatalogError } from '../../../catalog-api/catalog-error.ts'
import { quoteForMessage } from '../../../catalog-api/identifiers.ts'

/** The name of the branch that a request is for when it names none. */
export const mainBranch = 'main'

/** The branch of a request: absent and empty are main. */
export function normalizeBranch(branch: string | null | undefined): string {
  return branch || mainBranch
}

/** The 404 of a branch. */
export function branchNotFoundError(branch: string): CatalogError {
  return new CatalogError('TableBranchNotFound', `the table has no branch ${quoteForMessage(branch)}`)
}
