import { realpath } from 'node:fs/promises'
import path from 'node:path'
import { InterfaceError, invalidInput } from '../../interface/errors.ts'

const segment = /^[\p{L}\p{N}._-]+$/u

/** The branch a request means: undefined for the main one. */
export function normalizeBranch(branch: string | undefined): string | undefined {
  return branch === undefined || branch === '' || branch === 'main' ? undefined : branch
}

/**
 * The folder that holds the manifests of a branch. Throws InvalidInput for what cannot be the name of a branch:
 * segments of letters, digits, `.`, `-` and `_`, joined by `/`.
 */
export function versionsFolder(location: string, branch: string | undefined): string {
  const name = normalizeBranch(branch)
  return name === undefined
    ? path.join(location, '_versions')
    : path.join(location, 'tree', ...branchSegments(name), '_versions')
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

/**
 * Refuses a versions folder that a symbolic link leads out of its table. The location itself may be a link: it
 * is the operator's choice.
 */
export async function refuseLinks(location: string, folder: string): Promise<void> {
  const expected = path.join(await realpath(location), path.relative(location, folder))
  if ((await realpath(folder)) !== expected) {
    throw new InterfaceError(
      'InvalidInput',
      'a symbolic link beneath the location of the table is not followed',
    )
  }
}

/** The path as an object-store key: without the leading slash, with `/` between the parts. */
export function storageKey(file: string): string {
  return file.split(path.sep).join('/').replace(/^\/+/, '')
}
