import { invalidInput } from '../../../catalog-api/catalog-error.ts'

const segment = /^[\p{L}\p{N}._-]+$/u

/** Maps the main branch to undefined. */
export function omitMainBranch(branch: string | undefined): string | undefined {
  return branch === undefined || branch === '' || branch === 'main' ? undefined : branch
}

/**
 * The folder that holds the manifests of a branch. Throws InvalidInput for an invalid branch name; valid are segments
 * of letters, digits, `.`, `-` and `_`, joined by `/`.
 */
export function versionsFolder(location: string, branch: string | undefined): string {
  const name = omitMainBranch(branch)
  return name === undefined
    ? `${location}/_versions`
    : [location, 'tree', ...branchSegments(name), '_versions'].join('/')
}

function branchSegments(branch: string): string[] {
  const segments = branch.split('/')
  const fits = segments.every((part) => segment.test(part) && !part.includes('..') && part !== '.')
  if (!fits || branch.endsWith('.lock')) {
    throw invalidInput(
      `branch ${JSON.stringify(branch)}: expected letters, digits, ".", "-" and "_" joined by "/"`,
    )
  }
  return segments
}
