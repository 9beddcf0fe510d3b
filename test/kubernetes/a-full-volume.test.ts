import { execFile } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { request } from 'undici'
import { expect, inject, it, onTestFinished } from 'vitest'
import { underLoad } from './support/load.ts'
import { volumesFolder } from './support/node/volume-provisioner.ts'
import { replicas } from './support/replicas-values.ts'
import { countRestarts, installRelease, isReady, until, type Release } from './support/release.ts'

const run = promisify(execFile)

/** Puts a small file system under the volume of the second gateway, which is stopped meanwhile. Returns its folder. */
async function shrinkVolume(release: Release): Promise<string> {
  const { namespace } = release
  const scale = async (replicas: number) => {
    await namespace.client.patch(release.workload('gateway'), { spec: { replicas } })
    await until(async () => {
      const present = await release.pods('gateway')
      return present.length === replicas && present.every(isReady)
    })
  }
  const folder = join(volumesFolder(inject('cluster').folder, namespace.name), 'data-demo-catalog-gateway-1')
  await scale(1)
  await run('cp', ['-a', folder, `${folder}.copy`])
  await run('mount', ['-t', 'tmpfs', '-o', 'size=64m', 'none', folder])
  onTestFinished(async () => {
    await run('umount', ['--lazy', folder])
  })
  await run('cp', ['-a', `${folder}.copy/.`, folder])
  await rm(`${folder}.copy`, { recursive: true })
  await scale(2)
  return folder
}

/**
 * Requests a change on a connection of its own, for which the Service chooses a gateway at random: those of the clients
 * under load may all lead to the other gateway, and one that writes nothing does not find its volume full.
 */
async function requestChange({ url, apiKey }: Release): Promise<void> {
  const headers = { 'x-api-key': apiKey, 'content-type': 'application/json' }
  const target = `${url}/v1/namespace/filling-${Date.now()}/create`
  const { body } = await request(target, { method: 'POST', headers, body: '{}', reset: true })
  await body.dump()
}

it('a full volume of one gateway takes it out of the Service until there is space, and no record is lost', async () => {
  const release = await installRelease(replicas)
  const folder = await shrinkVolume(release)
  await release.untilServing()
  const countReady = async () => (await release.pods('gateway')).filter(isReady).length
  const losses = await underLoad('a full volume', release, async () => {
    // It ends with an error: no space is left.
    await run('dd', ['if=/dev/zero', `of=${join(folder, 'filler')}`, 'bs=64k']).catch(() => undefined)
    await until(async () => {
      await requestChange(release).catch(() => undefined)
      return (await countReady()) === 1
    })
    await release.untilServing()
    await rm(join(folder, 'filler'))
    await until(async () => (await countReady()) === 2)
  })
  for (const failure of Object.keys(losses.failed)) expect(failure).toMatch(/^503 /)
  expect(losses.lostRecords).toEqual([])
  expect(countRestarts(await release.pods('gateway'))).toBe(0)
  await release.untilServing()
})
