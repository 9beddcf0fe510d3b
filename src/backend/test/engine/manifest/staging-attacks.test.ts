import { mkdir, rename, symlink, truncate, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect, it } from 'vitest'
import { inspectStaging, retainManifest, type StagingRequest } from '../../../engine/manifest/commits.ts'
import { formatManifestName, listManifests } from '../../../engine/manifest/manifest-files.ts'
import { localFileStorage } from '../../../storage/local-storage.ts'
import { tableWithStaging } from './staged-tables.ts'

const uuid = '6b9c3f0e-9f3e-4a51-8f5d-0f3c1c2b7a10'
const stagingName = `${formatManifestName(2, 'V2')}-${uuid}`

async function refusal(location: string, request: StagingRequest): Promise<string> {
  const outcome: unknown = await inspectStaging(localFileStorage, location, request).catch(
    (error: unknown) => error,
  )
  expect(outcome).toMatchObject({ name: 'CatalogError', code: 13, status: 400 })
  expect(String(outcome)).not.toContain(path.dirname(location))
  return String(outcome)
}

it('rejects a path outside the versions folder', async () => {
  const { location, ahead, stage } = await tableWithStaging()
  const request = await stage(stagingName)
  const key = location.slice(1)
  const paths = [
    '',
    'etc/passwd',
    '/etc/passwd',
    `${ahead.slice(1)}/_versions/${formatManifestName(2, 'V2')}`,
    `${ahead.slice(1)}/_versions/${stagingName}`,
    `${key}/_versions/../_versions/${stagingName}`,
    `${key}/_versions/./${stagingName}`,
    `${key}/_versions//${stagingName}`,
    `${key}/_versions/${formatManifestName(2, 'V2')}`,
    `${key}/_versions/${formatManifestName(1, 'V2')}`,
    `${key}/_versions/${formatManifestName(3, 'V2')}-${uuid}`,
    `${key}/_versions/${formatManifestName(2, 'V2')}-not-a-uuid`,
    `${key}/_versions/${stagingName}/../../../../etc/passwd`,
    `${key}/_versions/${stagingName}\0`,
    `${key}/data/${stagingName}`,
    `s3://bucket/${key}/_versions/${stagingName}`,
  ]
  for (const manifest_path of paths) {
    expect(await refusal(location, { ...request, manifest_path })).toMatch(
      /expected _versions\/\d{20}\.manifest-<uuid>/,
    )
  }
  expect(await inspectStaging(localFileStorage, location, request)).toMatchObject({ version: 2 })
})

it('a leading slash and a file URI name the same file', async () => {
  const { location, stage } = await tableWithStaging()
  const request = await stage(stagingName)
  for (const prefix of ['/', 'file:///']) {
    const staged = await inspectStaging(localFileStorage, location, {
      ...request,
      manifest_path: prefix + request.manifest_path,
    })
    expect(staged.finalPath).toBe(path.join(location, '_versions', formatManifestName(2, 'V2')))
  }
})

it('does not follow symbolic links, as the file or on the path', async () => {
  const { location, versions, aheadManifest, stage } = await tableWithStaging()
  const request = await stage(stagingName)
  const linkName = `${formatManifestName(2, 'V2')}-${uuid.replace('6b', '00')}`
  await symlink(aheadManifest, path.join(versions, linkName))
  const linked = { ...request, manifest_path: path.join(versions, linkName).slice(1) }
  expect(await refusal(location, linked)).toMatch(/is a symbolic link/)

  const moved = path.join(path.dirname(location), 'moved')
  await rename(versions, moved)
  await symlink(moved, versions)
  expect(await refusal(location, request)).toMatch(/symbolic link beneath the location/)
})

it('rejects a folder with a staging name', async () => {
  const { location, versions } = await tableWithStaging()
  await mkdir(path.join(versions, stagingName))
  const manifest_path = path.join(versions, stagingName).slice(1)
  expect(await refusal(location, { version: 2, manifest_path })).toMatch(/not a regular file/)
})

it('rejects a manifest that contradicts the request', async () => {
  const { location, versions, stage } = await tableWithStaging()
  const request = await stage(stagingName)
  expect(await refusal(location, { ...request, manifest_size: 7 })).toMatch(/manifest_size is 7/)
  expect(await refusal(location, { ...request, naming_scheme: 'V1' })).toMatch(
    /expected _versions\/2\.manifest-<uuid>/,
  )

  const older = await stage(stagingName, path.join(versions, formatManifestName(1, 'V2')))
  expect(await refusal(location, older)).toMatch(/is for version 1 of branch main, the request for version 2/)

  const branch = await stage(stagingName, undefined, path.join(location, 'tree', 'dev', '_versions'))
  expect(await refusal(location, { ...branch, branch: 'dev' })).toMatch(
    /is for version 2 of branch main, .* version 2 of branch dev/,
  )

  await writeFile(path.join(versions, stagingName), 'no manifest at all')
  expect(await refusal(location, { version: 2, manifest_path: request.manifest_path })).toMatch(
    /not a Lance manifest/,
  )
  await truncate(path.join(versions, stagingName), 0)
  expect(await refusal(location, { version: 2, manifest_path: request.manifest_path })).toMatch(
    /not a Lance manifest/,
  )
})

it('rejects a missing staging manifest', async () => {
  const { location, versions } = await tableWithStaging()
  const manifest_path = path.join(versions, stagingName).slice(1)
  expect(await refusal(location, { version: 2, manifest_path })).toMatch(/no such staging manifest/)
  expect(await refusal(`${location}.lance`, { version: 2, manifest_path })).toMatch(/manifest_path/)
})

it('does not publish a staging manifest that was replaced after it was verified', async () => {
  const { location, versions, stage } = await tableWithStaging()
  const staged = await inspectStaging(localFileStorage, location, await stage(stagingName))
  const replacement = path.join(versions, 'replacement')
  await writeFile(replacement, 'not a manifest')
  await rename(replacement, staged.stagingPath)
  await expect(
    retainManifest(localFileStorage, staged, path.join(location, '../commits/a/b')),
  ).rejects.toMatchObject({ code: 13, status: 400 })
  expect((await listManifests(localFileStorage, { location })).map(({ version }) => version)).toEqual([1])
})
