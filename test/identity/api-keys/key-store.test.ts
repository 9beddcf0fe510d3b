import { randomBytes } from 'node:crypto'
import { chmod, chown, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { listKeys } from '../../../src/identity/api-keys/key-store-file.ts'
import {
  createKey,
  readOrCreatePepper,
  revokeKey,
  rotateKey,
} from '../../../src/identity/api-keys/key-store.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const pepper = randomBytes(32)
const loader = { principal: 'loader', groups: ['writers'] }
/** Above the largest process id of Linux. */
const noProcess = 4_194_305

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
