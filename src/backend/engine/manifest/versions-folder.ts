import { invalidInput } from 'catalog-gateway/catalog-api'

const segment = /^[\p{L}\p{N}._-]+$/u

/** Maps the main branch to undefined. */
export function omitMainBranch(branch: string | undefined): string | undefined {
  return branch === undefined || branch === '' || branch === 'main' ? undefined : branch
}

/** Valid branch names are segments of letters, digits, `.`, `-` and `_`, joined by `/`. Throws InvalidInput. */
export function versionsFolder(location: string, branch: string | undefined): string {
  const name = omitMainBranch(branch)
  return name === undefined
    ? `${location}/_versions`
    : [location, 'tree', ...parseBranchSegments(name), '_versions'].join('/')
}

/** Whether the text can be the name of a branch. */
export function isBranchName(text: string): boolean {
  const isValid = text.split('/').every((part) => segment.test(part) && !part.includes('..') && part !== '.')
  return isValid && !text.endsWith('.lock')
}

function parseBranchSegments(branch: string): string[] {
  if (isBranchName(branch)) return branch.split('/')
  throw invalidInput(
    `branch ${JSON.stringify(branch)}: expected letters, digits, ".", "-" and "_" joined by "/"`,
  )
}
