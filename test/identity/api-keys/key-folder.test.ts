import { randomBytes } from 'node:crypto'
import { mkdir, readFile, rename, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { createKey } from '../../../src/identity/api-keys/key-store.ts'
import {
  authenticateApiKey,
  eventually,
  makeFolder,
  openAuthenticator,
  captureReason,
} from '../test-authenticator.ts'

const pepper = randomBytes(32)

/** The folder as Kubernetes makes it: links to a hidden folder, which is exchanged by a rename. */
async function mountSecret() {
  const mount = await makeFolder()
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

/** The text of a store with one key, and the key. */
async function oneKey(principal: string) {
  const file = join(await makeFolder(), 'keys.yaml')
  const { text } = await createKey(file, pepper, { principal, groups: [] })
  return { stored: await readFile(file, 'utf8'), text }
}

it('its files are read together, and followed when they are exchanged', async () => {
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

it('faults of all its files are told at once, and one key in two files is a fault', async () => {
  const { mount, publish } = await mountSecret()
  const { stored } = await oneKey('sales')
  await publish({ 'a.yaml': stored, 'b.yaml': stored, 'c.yaml': 'keys: {', 'd.yaml': 'keys: 1' })
  const opening = openAuthenticator({ apiKeys: { file: mount, pepper } })
  await expect(opening).rejects.toThrow(
    /b\.yaml: duplicate key \w+, also in .*a\.yaml\n.*c\.yaml:1: .*\n.*d\.yaml:1: /,
  )
})

it('a folder without files of keys', async () => {
  const { mount } = await mountSecret()
  await expect(openAuthenticator({ apiKeys: { file: mount, pepper } })).rejects.toThrow('has no .yaml')
})
