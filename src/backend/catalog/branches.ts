import { InterfaceError } from '../../interface/errors.ts'
import { show } from '../../interface/identifiers.ts'

/** The name of the branch that a request is for when it names none. */
export const mainBranch = 'main'

/** The branch of a request: absent and empty are main. */
export function branchOf(branch: string | null | undefined): string {
  return branch || mainBranch
}

/** The 404 of a branch. */
export function branchNotFound(branch: string): InterfaceError {
  return new InterfaceError('TableBranchNotFound', `the table has no branch ${show(branch)}`)
}
