import { randomBytes } from 'node:crypto'
import { readFile, rename, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { createKey } from '../../../src/identity/api-keys/key-store.ts'
import { authenticateApiKey, openAuthenticator, captureReason } from '../test-authenticator.ts'
import { folderWith, writeFiles } from '../../policy/source/policy-folder.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { eventually } from '../../support/eventually.ts'

const pepper = randomBytes(32)

/** Writes the files like Kubernetes: links to a hidden folder that is replaced by a rename. */
async function publish(mount: string, version: string, files: Record<string, string>): Promise<void> {
  await writeFiles(join(mount, version), files)
  await symlink(version, join(mount, '..data_tmp'))
  await rename(join(mount, '..data_tmp'), join(mount, '..data'))
}

async function oneKey(principal: string) {
  const file = join(await temporaryFolder(), 'keys.yaml')
  const { text } = await createKey(file, pepper, { principal, groups: [] })
  return { stored: await readFile(file, 'utf8'), text }
}

it('reads the files together, and reloads them when they are replaced', async () => {
  const mount = await temporaryFolder()
  const [sales, research, later] = [await oneKey('sales'), await oneKey('research'), await oneKey('later')]
  const files = { 'sales.yaml': sales.stored, 'research.yml': research.stored, 'notes.txt': 'no keys' }
  await publish(mount, '..v1', files)
  for (const name of Object.keys(files)) await symlink(`..data/${name}`, join(mount, name))
  const authenticator = await openAuthenticator({ apiKeys: { file: mount, pepper } })
  expect((await authenticateApiKey(authenticator, sales.text)).name).toBe('sales')
  expect((await authenticateApiKey(authenticator, research.text)).name).toBe('research')
  expect(authenticator.status().apiKeys).toEqual({ keys: 2, isOutdated: false })

  await publish(mount, '..v2', { ...files, 'sales.yaml': later.stored })
  await eventually(() => authenticateApiKey(authenticator, later.text))
  expect(await captureReason(authenticateApiKey(authenticator, sales.text))).toBe('unknown_api_key')
})

it('reports the errors of all files, and a key that is in two files', async () => {
  const { stored } = await oneKey('sales')
  const files = { 'a.yaml': stored, 'b.yaml': stored, 'c.yaml': 'keys: {', 'd.yaml': 'keys: 1' }
  const opening = openAuthenticator({ apiKeys: { file: await folderWith(files), pepper } })
  await expect(opening).rejects.toThrow(
    /b\.yaml: duplicate key \w+, also in .*a\.yaml\n.*c\.yaml:1: .*\n.*d\.yaml:1: /,
  )
})

it('rejects a folder without key files', async () => {
  const file = await temporaryFolder()
  await expect(openAuthenticator({ apiKeys: { file, pepper } })).rejects.toThrow('has no .yaml')
})
