import { randomBytes } from 'node:crypto'
import { chmod, chown, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { ApiKeyStoreError, listKeys, parseKeyStore } from '../../../src/identity/api-keys/key-store-file.ts'
import { createKey, revokeKey, rotateKey } from '../../../src/identity/api-keys/key-store.ts'
import { readOrCreatePepper } from '../../../src/identity/api-keys/pepper.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const pepper = randomBytes(32)
const loader = { principal: 'loader', groups: ['writers'] }
/** Above the largest process id of Linux. */
const noProcess = 4_194_305

async function problemsOf(text: string): Promise<readonly string[]> {
  try {
    return (await parseKeyStore(text, 'keys.yaml')).problems
  } catch (error) {
    if (error instanceof ApiKeyStoreError) return error.problems
    throw error
  }
}

it('lists keys in order of creation, without their secrets', async () => {
  const file = join(await temporaryFolder(), 'keys.yaml')
  const expiresAt = new Date('2099-01-01T00:00:00Z')
  const { text, key } = await createKey(file, pepper, { ...loader, expiresAt, description: 'nightly: load' })
  expect(await listKeys(file)).toEqual([key])
  expect(key).toMatchObject({
    ...loader,
    expiresAt: '2099-01-01T00:00:00.000Z',
    description: 'nightly: load',
  })
  const [, , secret = '', check = ''] = text.split('_')
  const stored = await readFile(file, 'utf8')
  expect(stored).not.toContain(secret)
  expect(stored).not.toContain(check)
  expect(stored).not.toContain(pepper.toString('hex'))
})

// At this depth, the YAML library crashes the process.
it.each(['[', '{ a: ', '- '])(
  'reports a store that nests %s too deeply as one problem, with its line',
  async (opening) => {
    expect(await problemsOf(`# keys\nkeys:\n  ${opening.repeat(20_000)}`)).toEqual([
      'keys.yaml:3: nested deeper than 200 levels',
    ])
  },
)

it('names a byte order mark within a store', async () => {
  expect(await problemsOf('---\n\ufeffkeys: []\n')).toEqual([
    'keys.yaml:2: unexpected byte order mark (U+FEFF) within a document; remove it',
  ])
})

it('makes the store readable by its owner only', async () => {
  const file = join(await temporaryFolder(), 'keys.yaml')
  await createKey(file, pepper, loader)
  expect((await stat(file)).mode & 0o777).toBe(0o600)
})

it('keeps the mode of a store that others can read', async () => {
  const file = join(await temporaryFolder(), 'keys.yaml')
  const { key } = await createKey(file, pepper, loader)
  await chmod(file, 0o640)
  await revokeKey(file, key.id)
  expect((await stat(file)).mode & 0o777).toBe(0o640)
})

it('keeps the owner and group of a store that root changes', async ({ skip }) => {
  skip(process.getuid?.() !== 0, 'only root can give a file to another user')
  const file = join(await temporaryFolder(), 'keys.yaml')
  const { key } = await createKey(file, pepper, loader)
  await chown(file, 1234, 5678)
  await revokeKey(file, key.id)
  expect(await stat(file)).toMatchObject({ uid: 1234, gid: 5678 })
  expect((await stat(file)).mode & 0o777).toBe(0o600)
})

it('revoking again keeps the first time; an unknown id is an error', async () => {
  const file = join(await temporaryFolder(), 'keys.yaml')
  const { key } = await createKey(file, pepper, loader)
  await revokeKey(file, key.id)
  const [revoked] = await listKeys(file)
  expect(revoked?.revokedAt).toBeDefined()
  await revokeKey(file, key.id)
  expect(await listKeys(file)).toEqual([revoked])
  await expect(revokeKey(file, 'AAAAAAAAAAAA')).rejects.toThrow(/there is no key with this id$/)
  await expect(revokeKey(file, key.principal)).rejects.toThrow(`the principal of this name has ${key.id}`)
})

it('rotation creates an equal key, and makes the old one expire', async () => {
  const file = join(await temporaryFolder(), 'keys.yaml')
  const request = { ...loader, subject: 'corp:alice', description: 'nightly' }
  const { key } = await createKey(file, pepper, { ...request, createdBy: 'grace' })
  const endsAt = new Date(Date.now() + 60_000)
  const made = await rotateKey(file, pepper, { id: key.id, endsAt, by: 'heidi' })
  const { id, hash, createdAt, ...likeness } = made.key
  expect(likeness).toEqual({ ...request, createdBy: 'heidi', replaces: key.id, pepper: key.pepper })
  expect([id, hash]).not.toEqual([key.id, key.hash])
  expect(Date.parse(createdAt)).toBeGreaterThanOrEqual(Date.parse(key.createdAt))
  expect(await listKeys(file)).toEqual([{ ...key, expiresAt: endsAt.toISOString() }, made.key])
})

it('a rotated key has the lifetime of the old one, which is never extended', async () => {
  const file = join(await temporaryFolder(), 'keys.yaml')
  const expiresAt = new Date(Date.now() + 3_600_000)
  const { key } = await createKey(file, pepper, { ...loader, expiresAt })
  const made = await rotateKey(file, pepper, { id: key.id, endsAt: new Date('2099-01-01T00:00:00Z') })
  const lifetime = ({ createdAt, expiresAt = '' }: typeof key) =>
    Date.parse(expiresAt) - Date.parse(createdAt)
  expect(Math.abs(lifetime(made.key) - lifetime(key))).toBeLessThan(60_000)
  expect((await listKeys(file))[0]).toEqual(key)
})

it('rejects the rotation of a revoked or expired key', async () => {
  const file = join(await temporaryFolder(), 'keys.yaml')
  const revoked = await createKey(file, pepper, loader)
  await revokeKey(file, revoked.key.id)
  const expired = await createKey(file, pepper, { ...loader, expiresAt: new Date(0) })
  const before = await readFile(file, 'utf8')
  for (const { key } of [revoked, expired]) {
    const rotation = rotateKey(file, pepper, { id: key.id, endsAt: new Date() })
    await expect(rotation).rejects.toThrow('revoked or expired')
  }
  await expect(rotateKey(file, pepper, { id: 'AAAAAAAAAAAA', endsAt: new Date() })).rejects.toThrow(
    'there is no key with this id',
  )
  expect(await readFile(file, 'utf8')).toBe(before)
})

it('rejects an invalid principal name before writing', async () => {
  const folder = await temporaryFolder()
  const file = join(folder, 'keys.yaml')
  await expect(createKey(file, pepper, { principal: 'corp:alice', groups: ['a b'] })).rejects.toThrow(
    /principal.*\n.*groups/,
  )
  expect(await readdir(folder)).toEqual([])
})

it('concurrent commands do not overwrite each other', async () => {
  const folder = await temporaryFolder()
  const file = join(folder, 'keys.yaml')
  const { key } = await createKey(file, pepper, loader)
  await Promise.all([
    revokeKey(file, key.id),
    ...Array.from({ length: 5 }, () => createKey(file, pepper, loader)),
  ])
  const keys = await listKeys(file)
  expect(keys).toHaveLength(6)
  expect(keys.find(({ id }) => id === key.id)?.revokedAt).toBeDefined()
  expect(await readdir(folder)).toEqual(['keys.yaml'])
})

it('a command that was killed blocks no revocation', async () => {
  const folder = await temporaryFolder()
  const file = join(folder, 'keys.yaml')
  const { key } = await createKey(file, pepper, loader)
  await writeFile(`${file}.lock`, JSON.stringify({ pid: noProcess, host: hostname(), began: '1' }))
  await revokeKey(file, key.id)
  expect((await listKeys(file))[0]?.revokedAt).toBeDefined()
  expect(await readdir(folder)).toEqual(['keys.yaml'])
})

it('names the process that holds the lock of the store, and leaves the store unchanged', async () => {
  const file = join(await temporaryFolder(), 'keys.yaml')
  await createKey(file, pepper, loader)
  const before = await readFile(file, 'utf8')
  await writeFile(`${file}.lock`, JSON.stringify({ pid: process.pid, host: hostname(), began: null }))
  await expect(createKey(file, pepper, loader)).rejects.toThrow(`in use by process ${process.pid}`)
  expect(await readFile(file, 'utf8')).toBe(before)
}, 15_000)

it('preserves a link to the store', async () => {
  const folder = await temporaryFolder()
  const [file, link] = [join(folder, 'keys.yaml'), join(folder, 'link.yaml')]
  await createKey(file, pepper, loader)
  await symlink(file, link)
  await createKey(link, pepper, loader)
  expect(await listKeys(file)).toHaveLength(2)
  expect(await listKeys(link)).toHaveLength(2)
})

it('reports all errors of a store, each with its line, none with a value', async () => {
  const secret = 'cgk_pasted_here'
  const problems = await problemsOf(`keys:
  - id: short
    principal: corp:alice
    hash: ${secret}
    createdAt: 2026-01-01T00:00:00Z
  - id: ABCDEFGHIJKL
    principal: bob
    groups: reader
    hash: ${'0a'.repeat(32)}
    createdAt: yesterday
    expires: 2026-01-01T00:00:00Z
  - principal: carol
    hash: ${'0a'.repeat(32)}
    createdAt: 2026-01-01T00:00:00Z
`)
  expect(problems.map((problem) => problem.split(' ').slice(0, 2).join(' '))).toEqual([
    'keys.yaml:2: keys[0].id:',
    'keys.yaml:3: keys[0].principal:',
    'keys.yaml:4: keys[0].hash:',
    'keys.yaml:8: keys[1].groups:',
    'keys.yaml:10: keys[1].createdAt:',
    'keys.yaml:6: keys[1]:',
    'keys.yaml:12: keys[2].id:',
  ])
  expect(problems.join('\n')).not.toContain(secret)
})

it.each([
  ['nothing', '', 'keys.yaml:1: '],
  ['a list', '- a', 'keys.yaml:1: '],
  ['not YAML', 'keys:\n  - id: "x', 'keys.yaml:2: '],
  ['a member twice', 'keys: []\nkeys: []', 'keys.yaml:2: '],
  ['an alias', 'a: &a []\nkeys: *a', 'keys.yaml:2: '],
  ['an alias of nothing', '\nkeys: *a', 'keys.yaml:2: '],
])('rejects a store that holds %s', async (_name, text, problem) => {
  const problems = await problemsOf(text)
  expect(problems.length).toBeGreaterThan(0)
  expect(problems[0]).toContain(problem)
})

it('key ids are unique', async () => {
  const key = `id: ABCDEFGHIJKL, principal: a, hash: ${'0a'.repeat(32)}, createdAt: 2026-01-01T00:00:00Z`
  expect(await problemsOf(`keys:\n - {${key}}\n - {${key}}\n`)).toEqual([
    'keys.yaml:3: keys[1].id: duplicate id',
  ])
})

it('refuses a second pepper beside the keys of a store', async () => {
  const folder = await temporaryFolder()
  const file = join(folder, 'keys.yaml')
  const { key } = await createKey(file, await readOrCreatePepper(join(folder, 'pepper'), file), loader)
  await expect(readOrCreatePepper(join(folder, 'peper'), file)).rejects.toThrow('the keys in')
  expect((await readdir(folder)).toSorted()).toEqual(['keys.yaml', 'pepper'])
  const other = randomBytes(32)
  await expect(createKey(file, other, loader)).rejects.toThrow(key.id)
  await expect(rotateKey(file, other, { id: key.id, endsAt: new Date() })).rejects.toThrow(key.id)
  expect(await listKeys(file)).toEqual([key])
})

it('rotates no key that has a successor: its lifetime is that of the grace period', async () => {
  const file = join(await temporaryFolder(), 'keys.yaml')
  const { key } = await createKey(file, pepper, loader)
  const endsAt = new Date(Date.now() + 60_000)
  const { key: successor } = await rotateKey(file, pepper, { id: key.id, endsAt })
  await expect(rotateKey(file, pepper, { id: key.id, endsAt })).rejects.toThrow(
    `has the successor ${successor.id}`,
  )
  const { key: next } = await rotateKey(file, pepper, { id: successor.id, endsAt })
  expect([successor.expiresAt, next.expiresAt]).toEqual([undefined, undefined])
})

it('refuses a key that ends before it begins', async () => {
  const file = join(await temporaryFolder(), 'keys.yaml')
  const lifetime = { notBefore: new Date('2099-02-01'), expiresAt: new Date('2099-01-01') }
  await expect(createKey(file, pepper, { ...loader, ...lifetime })).rejects.toThrow('after notBefore')
})
