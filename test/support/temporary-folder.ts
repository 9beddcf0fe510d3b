import { randomUUID } from 'node:crypto'
import { realpathSync } from 'node:fs'
import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, onTestFinished } from 'vitest'

/** Creates a folder that is removed when the test ends. Its name contains a space, as users' folders do. */
export async function temporaryFolder(): Promise<string> {
  const folder = await makeTemporaryFolder()
  onTestFinished(() => removeFolder(folder))
  return folder
}

/** As above, for all tests of the file or block: the folder exists from the next `beforeAll` to the end. */
export function sharedFolder(): string {
  const folder = join(realpathSync(tmpdir()), `catalog gateway ${randomUUID()}`)
  beforeAll(() => mkdir(folder))
  afterAll(() => removeFolder(folder))
  return folder
}

/** Creates a folder that the caller must remove. */
export async function makeTemporaryFolder(): Promise<string> {
  return realpath(await mkdtemp(join(tmpdir(), 'catalog gateway ')))
}

export async function removeFolder(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true, maxRetries: 5 })
}
