import {
  getMembers,
  groupBy,
  isListOfStrings,
  isObject,
  parseJsonBytes,
  suggestSimilar,
  toError,
} from '../../lib/index.ts'
import {
  anyCaller,
  type ColumnType,
  createRuleReference,
  listRowColumns,
  listSteps,
  matchesAny,
  namespaceKey,
  type PolicySet,
  qualifiedRuleName,
  type TableRestriction,
  type VisibleColumns,
} from '../../policy/index.ts'
import type { Identifier, Operation } from '../../catalog-api/index.ts'
import { readRestrictedRows } from '../restrictions/restricted-response.ts'
import { restrictQuery } from '../restrictions/restrict-query.ts'
import { upstreamBounds } from '../bounds.ts'
import { openOwnClient, ownOperations, type OwnClient, type UpstreamAccess } from './own-client.ts'

/**
 * Compares the columns of a restriction with a schema in JSON, as DescribeTable returns it, and those that its condition on
 * rows names. Types with a name that is not read are not compared. Returns one sentence for each column that differs, without
 * a subject: "declares `id` as number, ...", and the declared columns that the table has.
 */
function compareColumns(schema: unknown, { columns, rows }: TableRestriction) {
  const problems: string[] = []
  const present: string[] = []
  for (const [path, declared] of columns) {
    const type = findColumnType(schema, path.split('.'))
    if (type === undefined) {
      problems.push(`declares the column \`${path}\`, which the table does not have`)
      continue
    }
    present.push(path)
    const real = formatType(type)
    if (real !== undefined && !typeGrammars[declared].test(real))
      problems.push(`declares the column \`${path}\` as ${declared}, but its type in the table is ${real}`)
  }
  for (const path of rows === undefined ? [] : listRowColumns(rows)) {
    if (columns.has(path) || findColumnType(schema, path.split('.')) !== undefined) continue
    const suggestion = suggestSimilar(
      path,
      listFields(schema).map(({ name }) => String(name)),
    )
    problems.push(
      `has \`rows\` on the column \`${path}\`, which the table does not have: every read is refused${suggestion}`,
    )
  }
  return { problems, present }
}

function listFields(schema: unknown): readonly Readonly<Record<string, unknown>>[] {
  const { fields } = getMembers(schema)
  return Array.isArray(fields) ? fields.map(getMembers) : []
}

/** Finds the type of a column, or of a field in a struct. */
function findColumnType(schema: unknown, [name, ...rest]: readonly string[]): unknown {
  const type = listFields(schema).find((field) => field['name'] === name)?.['type']
  return type === undefined || rest.length === 0 ? type : findColumnType(type, rest)
}

/** Returns the name of a type, of a list with the type of its items; undefined if it cannot be read. */
function formatType(type: unknown): string | undefined {
  const { type: name = type, fields } = isObject(type) ? type : {}
  const text = typeof name === 'string' ? name.toLowerCase() : undefined
  if (text === undefined || !text.includes('list') || !Array.isArray(fields)) return text
  const item = formatType(getMembers(fields[0])['type'])
  return item === undefined ? undefined : `${text} of ${item}`
}

const number = String.raw`(u?int\d+|float\d*|halffloat|double|decimal\S*)`
const text = '(large_)?(utf8|string)'
const list = '(large_list|list|fixed_size_list)'

/** Names of types of the catalog API and of Lance. */
const typeGrammars: Readonly<Record<ColumnType, RegExp>> = {
  number: new RegExp(`^${number}$`),
  text: new RegExp(`^${text}$`),
  boolean: /^bool(ean)?$/,
  date: /^date/,
  timestamp: /^timestamp/,
  texts: new RegExp(`^${list} of ${text}$`),
  numbers: new RegExp(`^${list} of ${number}$`),
  other: /^/,
}

/** A column of vectors, as a search needs one. */
interface VectorColumn {
  readonly name: string
  readonly dimension: number
}

/** Finds the first column of vectors of floats. */
function findVectorColumn(schema: unknown): VectorColumn | undefined {
  for (const { name, type } of listFields(schema)) {
    const { length } = getMembers(type)
    const isVector = /^fixed_size_list of (float|halffloat|double)/.test(formatType(type) ?? '')
    if (isVector && typeof name === 'string' && typeof length === 'number') return { name, dimension: length }
  }
  return undefined
}

/**
 * Reads from each table that policies restrict in a namespace of the upstream, and changes nothing: compares the declared
 * columns with its schema, and sends a count, a query and a vector search that no row fulfils, as the gateway sends
 * restricted reads.
 */
export async function probeRestrictions(
  options: UpstreamAccess,
  policies: PolicySet,
  isOfUpstream: (namespace: Identifier) => boolean,
): Promise<readonly TableProbe[]> {
  const client = openOwnClient(options, upstreamBounds.connectTimeoutMs)
  const tables: TableProbe[] = []
  try {
    const byNamespace = groupBy(policies.documents, ({ namespace }) => namespaceKey(namespace))
    for (const documents of byNamespace.values()) {
      const namespace = documents[0]?.namespace ?? []
      if (!isOfUpstream(namespace)) continue
      const patterns = documents
        .flatMap(({ rules }) => rules)
        .flatMap(({ restriction, tables = [] }) => (restriction === undefined ? [] : tables))
      for (const table of await listTables(client, namespace, patterns)) {
        const probe = new TableProbe(client, [...namespace, table], options.database !== undefined)
        const { restrictions } = listSteps(policies, {
          permission: ownOperations.queryTable.name,
          position: { namespace, table },
          caller: anyCaller,
        })
        const named = restrictions.map((each) => {
          const name = qualifiedRuleName(createRuleReference(each))
          return [name, each.restriction] as const
        })
        await probe.run(named).catch((error: unknown) => probe.notes.push(toError(error).message))
        tables.push(probe)
      }
    }
    return tables
  } finally {
    client.close()
  }
}

/** Returns the names among the patterns, and the existing tables that match the others. */
async function listTables(
  client: OwnClient,
  namespace: Identifier,
  patterns: readonly string[],
): Promise<ReadonlySet<string>> {
  const named = patterns.filter((pattern) => !pattern.includes('*'))
  if (named.length === patterns.length) return new Set(named)
  const found = new Set(named)
  for await (const { status, body } of client.readPages(ownOperations.listTables, namespace)) {
    const { tables } = getMembers(status === 200 ? body : undefined)
    if (!isListOfStrings(tables)) break
    for (const name of tables) if (matchesAny(patterns, name)) found.add(name)
  }
  return found
}

/** What a probe finds out about a restricted table, in sentences for the operator. Values of rows are in none. */
class TableProbe {
  /** Restrictions do not hold for this table, or make it unreadable. */
  readonly problems: string[] = []
  /** What works, and what could not be tried. */
  readonly notes: string[] = []
  readonly id: Identifier
  readonly #client: OwnClient
  readonly #isLancedb: boolean

  constructor(client: OwnClient, id: Identifier, isLancedb: boolean) {
    this.#client = client
    this.id = id
    this.#isLancedb = isLancedb
  }

  /** `restrictions` have the names of their rules. Rejects with a reason for a note. */
  async run(
    restrictions: readonly (readonly [name: string, restriction: TableRestriction])[],
  ): Promise<void> {
    const description = await this.#read(ownOperations.describeTable, { load_detailed_metadata: true })
    const { schema } = getMembers(parseJsonBytes(description))
    if (schema == null) this.notes.push('it is described without a schema: its columns are not compared')
    const columns = new Map<string, 'other'>()
    for (const [name, restriction] of restrictions) {
      const { problems, present } =
        schema == null
          ? { problems: [], present: [...restriction.columns.keys()] }
          : compareColumns(schema, restriction)
      this.problems.push(...problems.map((problem) => `the restriction ${name} ${problem}`))
      for (const path of present) columns.set(path, 'other')
    }
    if ((await this.#count(undefined)) === 0)
      throw new Error('it has no rows: whether conditions on rows are respected is unknown')
    const counted = await this.#count('false')
    if (counted > 0)
      this.problems.push(
        `counts ignore the predicate: with \`false\`, the count is ${counted}; callers would count hidden rows`,
      )
    if (columns.size === 0) throw new Error('it has none of the declared columns: queries were not tried')
    if ((await this.#query(columns)) > 0)
      this.problems.push(
        'queries ignore the filter: with `false`, a query returns rows; callers would read hidden rows',
      )
    const vector = findVectorColumn(schema)
    if (vector === undefined) this.notes.push('it has no column of vectors: vector searches were not tried')
    else if ((await this.#query(columns, vector)) > 0)
      this.problems.push(
        'vector searches ignore the filter: with `false`, a search returns rows; callers would read hidden rows',
      )
    if (this.problems.length === 0)
      this.notes.push(
        'no row is returned for a condition that no row fulfils; whether searches filter first was not tried',
      )
  }

  async #count(predicate: string | undefined): Promise<number> {
    const parsed = parseJsonBytes(await this.#read(ownOperations.countRows, { predicate }))
    const count = typeof parsed === 'number' ? parsed : getMembers(parsed)['count']
    if (typeof count === 'number') return count
    throw new Error('CountTableRows returned no number')
  }

  /** Sends a query for a row that fulfils `false`, as the gateway does under a restriction. Returns the number of rows. */
  async #query(columns: VisibleColumns, search?: VectorColumn): Promise<number> {
    const numbers = Array.from({ length: search?.dimension ?? 0 }, () => 1)
    const vector = this.#isLancedb ? numbers : { single_vector: numbers }
    const query = { k: 1, vector, ...(search && { vector_column: search.name }) }
    const visible = search === undefined ? columns : new Map([...columns, [search.name, 'other'] as const])
    const restricted = restrictQuery(query, { columns: visible, rows: 'false', parts: [] }, this.#isLancedb)
    const members = { ...query, ...Object.fromEntries(restricted.changes) }
    const body = await this.#read(ownOperations.queryTable, members)
    const { rows, problem } = readRestrictedRows(body, restricted.columns)
    const refused = problem && `${problem}: the gateway refuses it with 502`
    if (refused !== undefined && !this.problems.includes(refused)) this.problems.push(refused)
    return rows
  }

  async #read(operation: Operation, members: object): Promise<Buffer> {
    const { status, body } = await this.#client.send({
      operation,
      id: this.id,
      body: { id: this.id, ...members },
    })
    if (status === 200) return body
    throw new Error(
      status === 404 && operation === ownOperations.describeTable
        ? 'it does not exist yet, or the gateway may not see it: nothing was tried'
        : `${operation.name} got status ${status}: the rest was not tried`,
    )
  }
}
