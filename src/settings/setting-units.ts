import { resolve } from 'node:path'
import { parseDuration } from '../lib/index.ts'
import { mapSettings, type SchemaNode } from './schema-node.ts'

/** The unit of a numeric setting, which the end of its name states. */
export interface SettingUnit {
  /** Plural, for messages. */
  readonly name: string
  /** A value with a unit, for messages and documentation. */
  readonly example: string
  /** Returns the number in this unit; NaN if the text is not such a value. */
  readonly parse: (text: string) => number
}

const byteUnits: Readonly<Record<string, number>> = { B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 }

/** Returns the bytes of a size such as `64MiB` or `1.5 GiB`; NaN if the text is none. */
function parseBytes(text: string): number {
  const unit = /^\d{1,12}(\.\d{1,3})? ?(B|KiB|MiB|GiB)$/.exec(text)?.[2] ?? ''
  return Number.parseFloat(text) * (byteUnits[unit] ?? Number.NaN)
}

function createTimeUnit(name: string, milliseconds: number, example: string): SettingUnit {
  return { name, example, parse: (text) => parseDuration(text) / milliseconds }
}

export const settingUnits: readonly (readonly [ending: RegExp, unit: SettingUnit])[] = [
  [/Ms$/, createTimeUnit('milliseconds', 1, '30s')],
  [/Seconds$/, createTimeUnit('seconds', 1_000, '5m')],
  [/Minutes$/, createTimeUnit('minutes', 60_000, '1h')],
  [/Hours$/, createTimeUnit('hours', 3_600_000, '2d')],
  [/Days$/, createTimeUnit('days', 86_400_000, '30d')],
  [/Bytes$/, { name: 'bytes', example: '64MiB', parse: parseBytes }],
]

/** Returns the unit of a setting; undefined if it is not a number with a unit. */
function findUnit(name: string, { type }: SchemaNode): SettingUnit | undefined {
  return type === 'integer' || type === 'number' ? findUnitOfName(name) : undefined
}

export function findUnitOfName(name: string): SettingUnit | undefined {
  return settingUnits.find(([ending]) => ending.test(name))?.[1]
}

/**
 * Returns a copy of settings in which values with a unit, such as `30s`, are numbers in the unit of their setting, and paths
 * are absolute: relative ones are relative to the folder.
 */
export function convertValues(schema: SchemaNode, settings: unknown, folder: string): unknown {
  return mapSettings(schema, settings, (value, nodes, name) => {
    if (typeof value !== 'string') return value
    if (nodes.some((node) => findUnit(name, node) !== undefined)) {
      const number = findUnitOfName(name)?.parse(value) ?? Number.NaN
      return Number.isNaN(number) ? value : number
    }
    return value !== '' && nodes.some(({ path }) => path === true) ? resolve(folder, value) : value
  })
}
