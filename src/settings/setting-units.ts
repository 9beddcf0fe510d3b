import { resolve } from 'node:path'
import { parseDuration } from '../lib/index.ts'
import { mapSettings, type SchemaNode } from './schema-node.ts'

const byteUnits: Readonly<Record<string, number>> = { B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 }

/** Returns the bytes of a size such as `64MiB` or `1.5 GiB`; NaN if the text is none. */
function parseBytes(text: string): number {
  const unit = /^\d{1,12}(\.\d{1,3})? ?(B|KiB|MiB|GiB)$/.exec(text)?.[2] ?? ''
  return Number.parseFloat(text) * (byteUnits[unit] ?? Number.NaN)
}

function createTimeUnit(name: string, milliseconds: number, example: string) {
  return { name, example, parse: (text: string) => parseDuration(text) / milliseconds }
}

/**
 * The units of numeric settings, by the ends of their names, with a plural and an example for messages. `parse` returns NaN
 * for text that is no value with a unit.
 */
export const settingUnits = [
  [/Ms$/, createTimeUnit('milliseconds', 1, '30s')],
  [/Seconds$/, createTimeUnit('seconds', 1_000, '5m')],
  [/Days$/, createTimeUnit('days', 86_400_000, '30d')],
  [/Bytes$/, { name: 'bytes', example: '64MiB', parse: parseBytes }],
] as const

export function findUnitOfName(name: string) {
  return settingUnits.find(([ending]) => ending.test(name))?.[1]
}

/**
 * Returns a copy of settings in which values with a unit, such as `30s`, are numbers in the unit of their setting, and paths
 * are absolute: relative ones are relative to the folder.
 */
export function convertValues(schema: SchemaNode, settings: unknown, folder: string): unknown {
  return mapSettings(schema, settings, (value, nodes, name) => {
    if (typeof value !== 'string') return value
    if (nodes.some(({ type }) => type === 'integer' || type === 'number')) {
      const number = findUnitOfName(name)?.parse(value) ?? Number.NaN
      return Number.isNaN(number) ? value : number
    }
    return value !== '' && nodes.some(({ path }) => path === true) ? resolve(folder, value) : value
  })
}
