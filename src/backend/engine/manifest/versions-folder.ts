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

function parseBranchSegments(branch: string): string[] {
  const segments = branch.split('/')
  const isValid = segments.every((part) => segment.test(part) && !part.includes('..') && part !== '.')
  if (!isValid || branch.endsWith('.lock')) {
    throw invalidInput(
      `branch ${JSON.stringify(branch)}: expected letters, digits, ".", "-" and "_" joined by "/"`,
    )
  }
  return segments
}
