import { cp, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { stringify } from 'yaml'
import { chartFolder, podsOf, render } from './chart.ts'
import { helms } from './helm-programs.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

/** Creates a chart that has this one as a dependency. */
async function createUmbrella(values: object): Promise<string> {
  const folder = await temporaryFolder()
  await mkdir(join(folder, 'charts'))
  await cp(chartFolder, join(folder, 'charts', 'catalog-gateway'), { recursive: true })
  const dependency = { name: 'catalog-gateway', version: '0.x', condition: 'catalog-gateway.enabled' }
  const chart = { apiVersion: 'v2', name: 'platform', version: '1.0.0', dependencies: [dependency] }
  await writeFile(join(folder, 'Chart.yaml'), stringify(chart))
  await writeFile(join(folder, 'values.yaml'), stringify(values))
  return folder
}

describe.each(helms)('a chart with this one as a dependency, with %s', (program) => {
  it('switches it by its condition', async () => {
    const chart = await createUmbrella({ 'catalog-gateway': { enabled: false } })
    expect(await render([], { program, chart })).toEqual([])
    const manifests = await render(['--set', 'catalog-gateway.enabled=true'], { program, chart })
    expect(manifests.map(({ kind }) => kind)).toContain('StatefulSet')
  })

  it('shares global values with others, such as the registry of all images', async () => {
    const chart = await createUmbrella({
      global: { imageRegistry: 'mirror.example:5000/apps', team: 'data' },
    })
    const images = podsOf(await render([], { program, chart })).flatMap(({ pod }) =>
      pod.containers.map(({ image }) => image),
    )
    expect(images.length).toBeGreaterThan(2)
    const names = ['catalog-gateway', 'catalog-gateway-catalog']
    expect(new Set(images)).toEqual(new Set(names.map((name) => `mirror.example:5000/apps/${name}:0.1.0`)))
  })

  it('puts all objects into a Kubernetes namespace of their own', async () => {
    const chart = await createUmbrella({ 'catalog-gateway': { namespaceOverride: '0123' } })
    const manifests = await render([], { program, chart })
    expect(manifests.length).toBeGreaterThan(10)
    for (const { kind, metadata } of manifests) expect(metadata.namespace, kind).toBe('0123')
    const gateway = podsOf(manifests).find(({ component }) => component === 'gateway')
    expect(gateway?.annotations['catalog-gateway/settings']).toContain(
      'release-catalog-gateway-admin.0123.svc',
    )
  })
})

it.skipIf(helms.length === 0)('enabled: false is refused where no other chart reads it', async () => {
  await expect(render(['--set', 'enabled=false'])).rejects.toMatchObject({
    stderr: expect.stringContaining(
      'enabled is false, which only a chart with this one as a dependency reads',
    ),
  })
})
