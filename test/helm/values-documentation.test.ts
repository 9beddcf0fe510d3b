import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { parse } from 'yaml'
import { getMembers } from '../../src/lib/index.ts'
import { projectFolder } from '../e2e/built-program.ts'
import { chartFolder } from './chart.ts'

interface Schema {
  readonly $ref?: string
  readonly additionalProperties?: boolean | object
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly definitions?: Readonly<Record<string, Schema>>
}

const read = (name: string): Promise<string> => readFile(join(chartFolder, name), 'utf8')
const root = JSON.parse(await read('values.schema.json')) as Schema
const values = parse(await read('values.yaml')) as Readonly<Record<string, unknown>>

/** Read by a chart with this one as a dependency. */
const valuesOfOthers = ['enabled']

/** Definitions of what the programs judge: values may have any. */
const ofSettings = ['gatewaySettings', 'catalogSettings']
/** Definitions whose members may be removed: templates print them whole. */
const printedWhole = ['probe', 'resources']

it('the schema lists exactly the values, requires each, and refuses unknown ones', () => {
  compare(root, values, '')
})

function compare(schema: Schema, value: unknown, path: string): void {
  const { properties, additionalProperties, required = [] } = resolved(schema)
  if (properties === undefined || ofSettings.includes(definitionName(schema))) return
  const known = Object.keys(properties).filter((key) => path !== '' || !valuesOfOthers.includes(key))
  expect(known.toSorted(), path).toEqual(Object.keys(value as object).toSorted())
  // Other charts of a release read other global values.
  expect(additionalProperties, path).toBe(path === '.global' ? undefined : false)
  if (!printedWhole.includes(definitionName(schema))) {
    expect(required.toSorted(), path).toEqual(known.toSorted())
  }
  for (const key of known) {
    const inner = (value as Readonly<Record<string, unknown>>)[key]
    compare(properties[key] ?? {}, inner, `${path}.${key}`)
  }
}

function definitionName({ $ref = '' }: Schema): string {
  return $ref.replace('#/definitions/', '')
}

function resolved(schema: Schema): Schema {
  return schema.$ref === undefined ? schema : (root.definitions?.[definitionName(schema)] ?? {})
}

it('each value has a description in values.yaml, and each description a value', async () => {
  const described = [...(await read('values.yaml')).matchAll(/^## @param (\S+) \S/gm)].map(
    ([, path = '']) => path,
  )
  expect(described.length).toBeGreaterThan(100)
  const find = (path: string): unknown =>
    path.split('.').reduce<unknown>((value, name) => getMembers(value)[name], values)
  expect(described.filter((path) => find(path) === undefined)).toEqual([])
  const isDescribed = (path: string) => described.some((name) => path === name || path.startsWith(`${name}.`))
  expect(listLeaves(values, '').filter((path) => !isDescribed(path))).toEqual([])
})

function listLeaves(value: unknown, path: string): readonly string[] {
  const members = Object.entries(getMembers(value))
  return members.length === 0
    ? [path]
    : members.flatMap(([name, member]) => listLeaves(member, path === '' ? name : `${path}.${name}`))
}

it('the chart and the program have the same version', async () => {
  const { version } = JSON.parse(await readFile(join(projectFolder, 'package.json'), 'utf8')) as {
    version: string
  }
  expect(parse(await read('Chart.yaml'))).toMatchObject({ version, appVersion: version })
})
