import { copyFile, readFile, readdir, rename, writeFile } from 'node:fs/promises'
import path from 'node:path'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { editSchemaMetadata } from '../../../engine/manifest/schema-metadata.ts'
import { formatManifestName } from '../../../engine/manifest/manifest-files.ts'
import { parseManifest } from '../../../engine/manifest/manifest.ts'
import { CatalogError } from '../../../../catalog-api/catalog-error.ts'
import { freshEngine, orders, streamOf } from '../sample-tables.ts'

const writer = { uuid: '7f1c2f5e-0000-4000-8000-000000000000', millis: 1_700_000_000_123 }

async function tableAtVersionTwo() {
  const { engine, location } = await freshEngine()
  await engine.create(location, streamOf(orders(2)), 'create')
  await engine.insert(location, streamOf(orders(2, 2)), 'append')
  const versions = path.join(location, '_versions')
  return {
    engine,
    location,
    versions,
    file: await readFile(path.join(versions, formatManifestName(2, 'V2'))),
  }
}

it('changes only the version, the metadata and the transaction', async () => {
  const { file } = await tableAtVersionTwo()
  const { next, metadata } = editSchemaMetadata(file, { 'ä\n': '"', b: '' }, writer)
  expect([next?.version, metadata]).toEqual([3, { 'ä\n': '"', b: '' }])
  expect(parseManifest(next?.file ?? file)).toEqual({
    ...parseManifest(file),
    version: 3,
    readVersion: 2,
    transactionKind: 'UpdateConfig',
    transactionId: writer.uuid,
  })
  expect(editSchemaMetadata(next?.file ?? file, { b: null }, writer).metadata).toEqual({ 'ä\n': '"' })
  expect(editSchemaMetadata(file, { b: null }, writer).next).toBeUndefined()
})

it('does not grow manifests with every edit', async () => {
  const { file } = await tableAtVersionTwo()
  let current: Buffer = file
  const sizes = Array.from({ length: 20 }, (_, index) => {
    current = editSchemaMetadata(current, { a: String(index % 10) }, writer).next?.file ?? current
    return current.length
  })
  // The name of the transaction contains the version, which gets a second digit.
  expect(Math.max(...sizes) - Math.min(...sizes)).toBe(1)
})

it('continues the versions of a branch', async () => {
  const { engine, location, versions } = await tableAtVersionTwo()
  await engine.branches.create({ location }, 'dev')
  const onBranch = { location, branch: 'dev' }
  expect(await engine.changeMetadata(onBranch, { on: 'dev' })).toEqual({ on: 'dev' })
  expect(await engine.changeMetadata({ location }, { on: 'main' })).toEqual({ on: 'main' })
  expect((await engine.describe({ location, branch: 'dev' })).metadata).toEqual({ on: 'dev' })
  expect((await engine.describe({ location })).metadata).toEqual({ on: 'main' })
  expect(await engine.count({ location, branch: 'dev' })).toBe(4)
  await engine.delete(onBranch, 'id = 0')
  expect(await engine.count({ location, branch: 'dev' })).toBe(3)
  expect(await engine.count({ location })).toBe(4)
  expect((await readdir(versions)).includes(formatManifestName(3, 'V2'))).toBe(true)
})

it('keeps the V1 naming scheme of a table', async () => {
  const { engine, location, versions } = await tableAtVersionTwo()
  for (const version of [1, 2]) {
    await rename(
      path.join(versions, formatManifestName(version, 'V2')),
      path.join(versions, formatManifestName(version, 'V1')),
    )
  }
  await engine.changeMetadata({ location }, { a: '1' })
  expect(await readdir(versions)).toContain('3.manifest')
  expect(await engine.insert(location, streamOf(orders(1)), 'append')).toEqual({ version: 4, rows: 1 })
  expect((await engine.describe({ location })).metadata).toEqual({ a: '1' })
})

it('rejects a damaged manifest or edits it within its bounds', async () => {
  const { file } = await tableAtVersionTwo()
  const mutations = fc.array(fc.tuple(fc.nat(file.length - 1), fc.nat(255)), { minLength: 1, maxLength: 6 })
  fc.assert(
    fc.property(mutations, fc.nat(file.length), (changes, cut) => {
      const damaged = Buffer.from(changes.length % 2 === 0 ? file : file.subarray(0, cut))
      for (const [position, byte] of changes) if (position < damaged.length) damaged[position] = byte
      try {
        const { next } = editSchemaMetadata(damaged, { a: '1' }, writer)
        expect(next?.file.length ?? 0).toBeLessThan(2 * file.length)
      } catch (error) {
        expect(error).toBeInstanceOf(CatalogError)
      }
    }),
    { numRuns: 2000 },
  )
})

it('does not write a table that needs a newer writer', async () => {
  const { engine, location, versions, file } = await tableAtVersionTwo()
  const flags = Buffer.from([(10 << 3) | 0, 0x80, 0x01])
  const trailer = file.subarray(file.length - 16)
  const start = Number(file.readBigInt64LE(file.length - 16))
  const message = Buffer.concat([file.subarray(start + 4, file.length - 16), flags])
  const length = Buffer.alloc(4)
  length.writeUInt32LE(message.length)
  const newer = path.join(versions, formatManifestName(3, 'V2'))
  await copyFile(path.join(versions, formatManifestName(2, 'V2')), newer)
  await writeFile(newer, Buffer.concat([file.subarray(0, start), length, message, trailer]))
  await expect(engine.changeMetadata({ location }, { a: '1' })).rejects.toMatchObject({ kind: 'Unsupported' })
})
