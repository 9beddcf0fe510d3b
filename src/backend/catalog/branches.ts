import { InterfaceError } from '../../interface/errors.ts'
import { show } from '../../interface/identifiers.ts'

/** The name of the branch that a request is for when it names none. */
export const mainBranch = 'main'

/** The branch of a request: absent and empty are main. */
export function branchOf(branch: string | undefined): string {
  return branch === undefined || branch === '' ? mainBranch : branch
}

/** Throws Unsupported (406) when data of another branch than main is asked for: main never answers for it. */
export function requireMainBranch(branch: string | null | undefined): void {
  if (branch === undefined || branch === null || branchOf(branch) === mainBranch) return
  throw new InterfaceError(
    'Unsupported',
    `the branch ${show(branch)} was named; this catalog serves main only`,
  )
}

/** The error of a branch that has no version (404). */
export function branchNotFound(branch: string): InterfaceError {
  return new InterfaceError('TableBranchNotFound', `the table has no branch ${show(branch)}`)
}
