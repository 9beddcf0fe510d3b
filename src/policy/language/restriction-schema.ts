import { z } from 'zod'
import { getMembers, isObject } from '../../lib/index.ts'
import { getValue } from '../../settings/index.ts'
import { readingOperations, readsPart } from '../engine/object-position.ts'
import { columnTypes, type VisibleColumns } from '../restrictions/column-types.ts'
import { FilterError } from '../restrictions/filter-tokens.ts'
import { readRows, type WrittenRestriction } from '../restrictions/restriction.ts'
import type { DeclaredTags } from '../tags/object-tags.ts'
import type { DocumentReader, Path } from './document-reader.ts'
import type { PolicyRule } from './policy-document.ts'
import type { PolicyVocabulary } from './policy-vocabulary.ts'
import { createSubjects, ruleId, strictestRule, subjectsSchema } from './rule-schema.ts'
import {
  checked,
  either,
  filledLabel,
  fullList,
  fullMapOf,
  mapOf,
  optional,
  text,
  type NameSchemas,
} from './schema-parts.ts'

/* The parts of a policy about tables and their columns: restrictions, which are deny rules, and tags. */

const tagNames = fullList(filledLabel, '[pii]')
const columnType = z.enum(columnTypes)

/** Letters and digits of any script: filters have them in backticks. */
const columnNameGrammar = /^[\p{L}\p{N}_ -]{1,256}$/u

/** A map of columns by their path. A part of a struct is `person.city`; then the struct itself is none of them. */
function columnsOf<Column extends z.ZodType>(column: Column, expected: string) {
  return checked(fullMapOf(column, expected), (columns, report) => {
    for (const path of Object.keys(columns)) {
      const names = path.split('.')
      if (!names.every((name) => columnNameGrammar.test(name))) {
        const grammar = 'names of letters, digits, "_", "-" and spaces'
        const expected = `${grammar}, with "." between those of a struct and its field`
        report(` has ${JSON.stringify(path)}; expected ${expected}`, [], { key: path })
      }
      const whole = names
        .map((_, length) => names.slice(0, length).join('.'))
        .find((prefix) => Object.hasOwn(columns, prefix))
      if (whole === undefined) continue
      const problem = `${JSON.stringify(path)}, a part of ${JSON.stringify(whole)}; expected one of them`
      report(` has ${problem}`, [], { key: path })
    }
  })
}

const columnsWithout = z.strictObject({
  without: tagNames.describe(
    'Tags. Of each table, the columns remain that its namespace declares in `tags` and that have none of these.',
  ),
})

const visibleColumns = either(
  columnsOf(columnType, 'a map of columns, such as { id: number, name: text }'),
  columnsWithout,
  isWithout,
)

/** Whether columns are selected by their tags. A column may have the name `without`: its type is no list. */
function isWithout(columns: unknown): columns is z.output<typeof columnsWithout> {
  return Array.isArray(getMembers(columns)['without'])
}

export function createRestrictionSchema({ tables }: NameSchemas) {
  return checked(
    z.strictObject({
      id: ruleId,
      subjects: subjectsSchema.describe('The callers, and exceptions.'),
      tables: tables.describe(
        'Patterns of names of tables directly in the namespace. All that is not reading them is denied to the callers.',
      ),
      columns: visibleColumns.describe(
        'The only columns that the callers may read, each with its type, such as { id: number, person.city: text }. ' +
          'New columns of a table stay hidden. Or { without: [pii] }: the columns that `tags` declares for the table, but those ' +
          'with one of these tags.',
      ),
      rows: optional(
        text,
        "A condition on the only rows that the callers may read, such as region = 'EU' and tenant in " +
          '$principal.claims.tenants. Default: all rows.',
      ),
    }),
    ({ rows, columns }, report) => {
      try {
        createRestriction(columns, rows)
      } catch (error) {
        if (!(error instanceof FilterError)) throw error
        report(`: ${error.message}`, ['rows'], { index: error.offset })
      }
    },
  )
}

/** Reads a rule that denies all on the tables but reads of the visible part; undefined for a restriction that is no map. */
export function readRestriction(
  reader: DocumentReader,
  path: Path,
  vocabulary: PolicyVocabulary,
): PolicyRule | undefined {
  const { position, strictest } = strictestRule(reader, path)
  const { isValid, value } = reader.read<z.output<ReturnType<typeof createRestrictionSchema>>>(path, {
    ...strictest,
    columns: {},
  })
  const { id, subjects, tables, columns, rows } = value
  if (!isObject(getValue(reader.value, path))) return undefined
  const denied = vocabulary.permissions.names.filter((name) => !readsPart(name))
  return {
    id,
    effect: 'deny',
    subjects: createSubjects(subjects),
    ...vocabulary.cover(denied, 'deny', true),
    tables,
    condition: undefined,
    restriction: createRestriction(columns, isValid ? rows : 'false'),
    message: `you may read a part of this table only, by ${readingOperations.join(', ')}`,
    ...position,
  }
}

function createRestriction(
  columns: z.output<typeof visibleColumns>,
  rows: string | undefined,
): WrittenRestriction {
  const types: VisibleColumns = new Map(isWithout(columns) ? [] : Object.entries(columns))
  return {
    columns: isWithout(columns) ? columns : types,
    rows: rows === undefined ? undefined : readRows(rows, types),
  }
}

const taggedColumn = z.strictObject({
  type: columnType.describe('The type of the column.'),
  tags: optional(tagNames, 'Tags of the column. Its table does not have them.'),
})

const taggedTable = z.strictObject({
  tags: optional(tagNames, 'Tags of the table, which all its columns have, too.'),
  columns: optional(
    columnsOf(
      either(columnType, taggedColumn, isObject),
      'a map of columns, such as { id: number, ssn: { type: text, tags: [pii] } }',
    ),
    'Columns, each with its type, or with type and tags: { id: number, ssn: { type: text, tags: [pii] } }.',
  ),
})

export function createTagsSchema({ describeTable }: NameSchemas) {
  return z.strictObject({
    namespace: optional(
      tagNames,
      'Tags of the namespace: all that is or will be created beneath it has them, too.',
    ),
    tables: optional(
      checked(
        mapOf(taggedTable, 'a map of tables, such as { customers: { tags: [pii] } }'),
        (tables, report) => {
          for (const name of Object.keys(tables)) {
            const problem = name.includes('*')
              ? ' contains "*"; tables are declared by exact name, and tags.namespace is for all'
              : describeTable(name)
            if (problem !== undefined) report(`.${name}${problem}`, [], { key: name })
          }
        },
      ),
      'Tables directly in the namespace, by their exact name, each declared in one document only: ' +
        'their tags, and their columns with type and tags.',
    ),
  })
}

/** Reads the field `tags` of a document: unknown tags, if it is not valid. */
export function readTags(reader: DocumentReader): DeclaredTags {
  const position = reader.position(['tags'])
  const { isValid, value } = reader.read<z.output<ReturnType<typeof createTagsSchema>>>(['tags'])
  if (!isValid) return { namespace: 'unknown', tables: new Map(), ...position }
  const declared = Object.entries(value.tables ?? {}).map(([name, { tags = [], columns = {} }]) => {
    const typed = Object.entries(columns).map(([path, column]) => {
      const { type, tags = [] } = typeof column === 'string' ? { type: column } : column
      return [path, { type, tags }] as const
    })
    return [
      name,
      { tags, columns: new Map(typed), ...reader.position(['tags', 'tables'], { key: name }) },
    ] as const
  })
  return { namespace: value.namespace, tables: new Map(declared), ...position }
}
