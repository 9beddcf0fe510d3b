import { invalidInput, isBranchName } from 'catalog-gateway/catalog-api'

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
  if (isBranchName(branch)) return branch.split('/')
  throw invalidInput(
    `branch ${JSON.stringify(branch)}: expected letters, digits, ".", "-" and "_" joined by "/"`,
  )
}
