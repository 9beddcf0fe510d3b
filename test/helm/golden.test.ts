import { readdir, readFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { Document, isCollection, isPair, parse, visit } from 'yaml'
import {
  chartFolder,
  goldenContent,
  goldenFile,
  render,
  valuesFile,
  valuesNames,
  type Manifest,
} from './chart.ts'
import { everyInTheLongForm, isThorough } from '../support/thorough.ts'
import { helm, helms } from './helm-programs.ts'

const files = async (name: string): Promise<string> => readFile(join(chartFolder, 'files', name), 'utf8')
const texts = new Map<unknown, string>()
for (const name of ['dashboard.json', 'calls.mjs', 'unknown-members.cel'])
  texts.set(await files(name), `files/${name}`)
const parsedTexts = new Map<string, string>()
for (const name of ['alerts.yaml', 'accesspolicies.yaml']) {
  const content = parse(await files(name)) as { readonly spec?: unknown }
  parsedTexts.set(canonical(content.spec ?? content), `files/${name}`)
}

const {
  name: chartName,
  version,
  appVersion,
} = parse(await readFile(join(chartFolder, 'Chart.yaml'), 'utf8')) as {
  readonly name: string
  readonly version: string
  readonly appVersion: string
}
const labelsOfAll = Object.entries({
  'app.kubernetes.io/name': chartName,
  'app.kubernetes.io/instance': 'release',
  'app.kubernetes.io/version': appVersion,
  'app.kubernetes.io/managed-by': 'Helm',
  'helm.sh/chart': `${chartName}-${version}`,
})

const settingsAnnotation = 'catalog-gateway/settings'

const programs = isThorough ? helms : helms.slice(-1)

// `npx vitest run test/helm/golden.test.ts --update` updates the files; if that changes one that others patch, again.
describe.skipIf(programs.length === 0).each(programs.length === 0 ? ['helm'] : programs)(
  'the chart with %s',
  (program) => {
    it.each(valuesNames)('renders %s as expected', async (name) => {
      const manifests = await render(['--values', valuesFile(name)], { program })
      await expect(goldenContent(name, textOf(manifests))).toMatchFileSnapshot(goldenFile(name))
    })

    it('helm lint reports nothing', async () => {
      const each = everyInTheLongForm(valuesNames, 6).map((name) =>
        helm(['lint', '--strict', chartFolder, '-f', valuesFile(name)], program),
      )
      for (const said of await Promise.all(each))
        expect(said).toContain('1 chart(s) linted, 0 chart(s) failed')
    })
  },
)

it('every golden file has values', async () => {
  const golden = await readdir(dirname(goldenFile('any')))
  expect(new Set(golden)).toEqual(new Set(valuesNames.map((name) => basename(goldenFile(name)))))
})

/** Sorted, since helm versions order manifests differently; what replaces a StatefulSet is in its place. */
function textOf(manifests: readonly Manifest[]): string {
  const sorted = manifests.toSorted((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1))
  return sorted.map((manifest) => toYaml(withoutFiles(manifest))).join('---\n')
}

/** YAML that has each list and mapping that fits into a line in one line. */
function toYaml(value: unknown): string {
  const document = new Document(value, { version: '1.1', aliasDuplicateObjects: false })
  visit(document, {
    Collection: (_key, node, path) => {
      const owner = path.at(-1)
      const indent =
        2 * path.filter(isCollection).length + (isPair(owner) ? `${String(owner.key)}: `.length : 0)
      const text = JSON.stringify(node)
      node.flow = indent + text.length <= 110 && !text.includes(String.raw`\n`)
    },
  })
  return document.toString({ blockQuote: 'literal', lineWidth: 0 })
}

function keyOf({ kind, metadata }: Manifest): string {
  const place = kind === 'Deployment' ? 'StatefulSet' : kind
  return `${place} ${metadata.name} ${metadata.namespace ?? ''}`
}

/** Replaces the content of chart files by their names, because the files have tests of their own, and random values. */
function withoutFiles(manifest: Manifest): Manifest {
  return JSON.parse(
    JSON.stringify(manifest, (key, value: unknown) => {
      if (key === 'labels') return withoutLabelsOfAll(value as Manifest['metadata']['labels'])
      if (key === 'data' && manifest.kind === 'Secret') {
        return Object.fromEntries(Object.keys(value as object).map((name) => [name, 'cmFuZG9t']))
      }
      if (key === settingsAnnotation) return toYaml(parse(value as string))
      return texts.get(value) ?? (key === 'spec' ? (parsedTexts.get(canonical(value)) ?? value) : value)
    }),
  ) as Manifest
}

/** The labels without those that every object of the chart has; without one of these, they stay as they are. */
function withoutLabelsOfAll(labels: Manifest['metadata']['labels']): object {
  const isComplete = labelsOfAll.every(([name, value]) => labels[name] === value)
  const names = new Set(isComplete ? labelsOfAll.map(([name]) => name) : [])
  return Object.fromEntries(Object.entries(labels).filter(([name]) => !names.has(name)))
}

/** JSON without the order of members, which helm changes. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).toSorted(([one], [other]) => (one < other ? -1 : 1)))
      : inner,
  )
}
