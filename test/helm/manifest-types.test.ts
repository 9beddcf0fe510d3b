import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { projectFolder } from '../e2e/built-program.ts'
import { goldenManifests, valuesNames, type Manifest } from './chart.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const typesFile = join(projectFolder, 'test', 'helm', 'manifest-types.ts')
const compiler = join(projectFolder, 'node_modules', 'typescript', 'bin', 'tsc')

const all = valuesNames.flatMap((name) => goldenManifests(name))

it('manifests have no unknown members and all required ones', async () => {
  expect(await complaintsAbout(all)).toBe('')
})

it('the check detects misplaced members and wrong types', async () => {
  const [service] = all.filter(({ kind }) => kind === 'Service')
  if (service === undefined) throw new Error('the chart makes no Service')
  const spec = service.spec as object
  const wrong = [
    { ...service, spec: { ...spec, portz: [] } },
    { ...service, spec: { ...spec, ports: [{ port: '80' }] } },
    { ...service, kind: 'Servise' },
  ]
  const complaints = await complaintsAbout(wrong)
  for (const found of ['portz', `Type 'string' is not assignable to type 'number'`, 'v1 Servise']) {
    expect(complaints).toContain(found)
  }
})

/** Compiler errors for the manifests as literals of their types. */
async function complaintsAbout(manifests: readonly Manifest[]): Promise<string> {
  const folder = await temporaryFolder()
  const literals = manifests.map(
    (manifest, index) =>
      `export const manifest${index}: ManifestTypes['${manifest.apiVersion} ${manifest.kind}'] = ${JSON.stringify(manifest)}`,
  )
  const source = [`import type { ManifestTypes } from ${JSON.stringify(typesFile)}`, ...literals].join('\n')
  await writeFile(join(folder, 'manifests.ts'), source)
  const options = ['--ignoreConfig', '--noEmit', '--strict', '--allowImportingTsExtensions', '--skipLibCheck']
  const resolution = ['--module', 'nodenext', '--types', '']
  const words = [compiler, ...options, ...resolution, join(folder, 'manifests.ts')]
  try {
    return (await promisify(execFile)(process.execPath, words)).stdout
  } catch (error) {
    return (error as { stdout: string }).stdout
  }
}
