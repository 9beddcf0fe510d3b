import { readFile, readdir } from 'node:fs/promises'
import path from 'node:path'
import { connect } from '@lancedb/lancedb'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { parseManifest } from '../../../engine/manifest/manifest.ts'
import { formatManifestName, parseManifestName } from '../../../engine/manifest/manifest-files.ts'
import { CatalogError } from '../../../../catalog-api/catalog-error.ts'
import { freshEngine, orders, streamOf } from '../sample-tables.ts'

async function manifestsOf(location: string): Promise<Buffer[]> {
  const folder = path.join(location, '_versions')
  const names = (await readdir(folder)).filter((name) => parseManifestName(name) !== undefined)
  const manifests = await Promise.all(names.map(async (name) => readFile(path.join(folder, name))))
  return manifests.toSorted((left, right) => parseManifest(left).version - parseManifest(right).version)
}

it("parses the transactions of a real table's manifests", async () => {
  const { engine, location } = await freshEngine()
  await engine.create(location, streamOf(orders(10)), 'create')
  await engine.insert(location, streamOf(orders(5, 10)), 'append')
  const database = await connect(path.dirname(location))
  const table = await database.openTable('orders')
  await table.delete('id in (1, 2, 12)')
  await engine.insert(location, streamOf(orders(1)), 'overwrite')
  const branches = await table.branches()
  await branches.create('team/dev')

  const manifests = (await manifestsOf(location)).map(parseManifest)
  expect(
    manifests.map(({ version, readVersion, transactionKind, fragments, deletedRows }) => ({
      version,
      readVersion,
      transactionKind,
      fragments,
      deletedRows,
    })),
  ).toEqual([
    { version: 1, readVersion: 0, transactionKind: 'Overwrite', fragments: 1, deletedRows: 0 },
    { version: 2, readVersion: 1, transactionKind: 'Append', fragments: 2, deletedRows: 0 },
    { version: 3, readVersion: 2, transactionKind: 'Delete', fragments: 2, deletedRows: 3 },
    { version: 4, readVersion: 3, transactionKind: 'Overwrite', fragments: 1, deletedRows: 0 },
  ])
  expect(new Set(manifests.map(({ branch }) => branch))).toEqual(new Set([undefined]))
  const [first] = await manifestsOf(path.join(location, 'tree/team/dev'))
  expect(first && parseManifest(first).branch).toBe('team/dev')
  expect(await engine.describe({ location, version: 3 })).toMatchObject({
    stats: { num_fragments: 2, num_deleted_rows: 3 },
  })
})

function reads(bytes: Uint8Array): void {
  try {
    parseManifest(Buffer.from(bytes))
  } catch (error) {
    expect(error).toBeInstanceOf(CatalogError)
  }
}

it('rejects any bytes that are not a manifest', async () => {
  const { engine, location } = await freshEngine()
  await engine.create(location, streamOf(orders(1)), 'create')
  const [manifest = Buffer.alloc(0)] = await manifestsOf(location)
  fc.assert(fc.property(fc.uint8Array({ maxLength: 64 }), reads))
  const change = fc.record({ position: fc.nat({ max: manifest.length - 1 }), value: fc.nat({ max: 255 }) })
  fc.assert(
    fc.property(
      fc.array(change, { minLength: 1, maxLength: 4 }),
      fc.nat({ max: manifest.length }),
      (changes, length) => {
        const changed = Buffer.from(manifest)
        for (const { position, value } of changes) changed[position] = value
        reads(changed)
        reads(Buffer.concat([changed.subarray(0, length), changed.subarray(-16)]))
      },
    ),
    { numRuns: 1000 },
  )
  expect(() => parseManifest(manifest.subarray(1))).toThrow(/not a Lance manifest/)
})

it('maps names to versions in both schemes', () => {
  expect(formatManifestName(1, 'V1')).toBe('1.manifest')
  expect(formatManifestName(1, 'V2')).toBe('18446744073709551614.manifest')
  fc.assert(
    fc.property(fc.maxSafeNat(), fc.constantFrom('V1' as const, 'V2' as const), (version, namingScheme) => {
      expect(parseManifestName(formatManifestName(version, namingScheme))).toEqual({ version, namingScheme })
    }),
  )
  for (const name of [
    'd7.manifest',
    '1.manifest-x',
    'latest_version_hint.json',
    '.manifest',
    '12345678901234567890.manifest',
  ]) {
    expect(parseManifestName(name)).toBeUndefined()
  }
})
