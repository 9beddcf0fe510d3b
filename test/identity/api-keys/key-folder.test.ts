import { randomBytes } from 'node:crypto'
import { mkdir, readFile, rename, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { createKey } from '../../../src/identity/api-keys/key-store.ts'
import { authenticateApiKey, openAuthenticator, captureReason } from '../test-authenticator.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { eventually } from '../../support/eventually.ts'

const pepper = randomBytes(32)

/** Creates a folder like Kubernetes: links to a hidden folder that is replaced by a rename. */
async function mountSecret() {
  const mount = await temporaryFolder()
  let version = 0
  async function publish(files: Record<string, string>): Promise<void> {
    const data = `..data-${++version}`
    await mkdir(join(mount, data))
    for (const [name, text] of Object.entries(files)) await writeFile(join(mount, data, name), text)
    await symlink(data, join(mount, '..data_tmp'))
    await rename(join(mount, '..data_tmp'), join(mount, '..data'))
    for (const name of Object.keys(files)) {
      await symlink(join('..data', name), join(mount, name)).catch(() => undefined)
    }
  }
  return { mount, publish }
}

async function oneKey(principal: string) {
  const file = join(await temporaryFolder(), 'keys.yaml')
  const { text } = await createKey(file, pepper, { principal, groups: [] })
  return { stored: await readFile(file, 'utf8'), text }
}

it('reads the files together, and reloads them when they are replaced', async () => {
  const { mount, publish } = await mountSecret()
  const [sales, research, later] = [await oneKey('sales'), await oneKey('research'), await oneKey('later')]
  await publish({ 'sales.yaml': sales.stored, 'research.yml': research.stored, 'notes.txt': 'no keys' })
  const authenticator = await openAuthenticator({ apiKeys: { file: mount, pepper } })
  expect((await authenticateApiKey(authenticator, sales.text)).name).toBe('sales')
  expect((await authenticateApiKey(authenticator, research.text)).name).toBe('research')
  expect(authenticator.status().apiKeys).toEqual({ keys: 2, isOutdated: false })

  await publish({ 'sales.yaml': later.stored, 'research.yml': research.stored })
  await eventually(() => authenticateApiKey(authenticator, later.text))
  expect(await captureReason(authenticateApiKey(authenticator, sales.text))).toBe('unknown_api_key')
})

it('reports the errors of all files, and a key that is in two files', async () => {
  const { mount, publish } = await mountSecret()
  const { stored } = await oneKey('sales')
  await publish({ 'a.yaml': stored, 'b.yaml': stored, 'c.yaml': 'keys: {', 'd.yaml': 'keys: 1' })
  const opening = openAuthenticator({ apiKeys: { file: mount, pepper } })
  await expect(opening).rejects.toThrow(
    /b\.yaml: duplicate key \w+, also in .*a\.yaml\n.*c\.yaml:1: .*\n.*d\.yaml:1: /,
  )
})

it('rejects a folder without key files', async () => {
  const { mount } = await mountSecret()
  await expect(openAuthenticator({ apiKeys: { file: mount, pepper } })).rejects.toThrow('has no .yaml')
})
