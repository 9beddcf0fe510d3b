import type { Identifier } from '../../../catalog-api/identifiers.ts'
import type { Operation } from '../../../catalog-api/operations.ts'
import type { BufferedResponse } from '../../../http1/client/send-request.ts'
import { countRows } from '../../../lib/arrow/count-rows.ts'
import { toError } from '../../../lib/errors/to-error.ts'
import { getMembers } from '../../../lib/json/is-object.ts'
import { parseJsonBytes } from '../../../lib/json/parse-json-bytes.ts'
import type { ColumnType } from '../../../policy/restrictions/column-type.ts'
import type { VisibleColumns } from '../../../policy/restrictions/restriction.ts'
import { createColumnsCheck } from '../../restrictions/check-columns.ts'
import { compareColumns, findVectorColumn, type VectorColumn } from '../../restrictions/compare-columns.ts'
import { restrictQuery } from '../../restrictions/restrict-query.ts'
import { ownOperations } from '../own-operations.ts'
import { findSplit } from './find-split.ts'
import type { ProbeClient } from './probe-client.ts'

/** The columns that a restriction leaves of a table. */
export interface DeclaredColumns {
  /** Of the restriction: `POLICY/ID`. */
  readonly name: string
  readonly columns: VisibleColumns
}

/** What a probe found out about a restricted table, in sentences for the operator. Values of rows are in none. */
export interface TableProbe {
  /** Restrictions do not hold for this table, or make it unreadable. */
  readonly problems: readonly string[]
  /** What works, and what could not be tried. */
  readonly notes: readonly string[]
}

/**
 * Reads from a table what restrictions need of an upstream: the types of its columns, and whether counts, queries and
 * vector searches respect a condition on rows. Restricted reads are sent as the gateway sends them. Never rejects: what fails is a
 * note.
 */
export async function probeTable(
  client: ProbeClient,
  id: Identifier,
  restrictions: readonly DeclaredColumns[],
  isLancedb: boolean,
): Promise<TableProbe> {
  const probe = new RunningProbe(client, id, isLancedb)
  try {
    await probe.run(restrictions)
  } catch (error) {
    if (!(error instanceof UnansweredError)) throw error
    probe.notes.push(error.message)
  }
  return probe
}

/** The upstream did not respond with what the operation returns. */
class UnansweredError extends Error {}

function ignoreUnanswered(error: unknown): undefined {
  if (!(error instanceof UnansweredError)) throw error
}

class RunningProbe {
  readonly problems: string[] = []
  readonly notes: string[] = []
  readonly #client: ProbeClient
  readonly #id: Identifier
  readonly #isLancedb: boolean

  constructor(client: ProbeClient, id: Identifier, isLancedb: boolean) {
    this.#client = client
    this.#id = id
    this.#isLancedb = isLancedb
  }

  async run(restrictions: readonly DeclaredColumns[]): Promise<void> {
    const { schema } = getMembers(
      await this.#readJson(ownOperations.describeTable, { load_detailed_metadata: true }),
    )
    const columns = schema == null ? undefined : this.#compareColumns(schema, restrictions)
    if (columns === undefined)
      this.notes.push('it is described without a schema: the types of its columns are not compared')
    const readable = columns ?? restrictions[0]?.columns ?? new Map()
    if ((await this.#count(undefined)) === 0) {
      this.notes.push('it has no rows: whether conditions on rows are respected is unknown')
      return
    }
    const counted = await this.#count('false')
    if (counted > 0)
      this.problems.push(
        `counts ignore the predicate: with \`false\`, the count is ${counted}; callers would count hidden rows`,
      )
    if (readable.size === 0) {
      this.notes.push('it has none of the declared columns: queries were not tried')
      return
    }
    const found = await this.#query(readable, 'false')
    if (found > 0)
      this.problems.push(
        `queries ignore the filter: with \`false\`, a query returns rows; callers would read hidden rows`,
      )
    if (counted > 0 || found > 0) return
    this.notes.push('counts and queries respect a condition on rows')
    const vector = findVectorColumn(schema)
    if (vector === undefined) this.notes.push('it has no column of vectors: vector searches were not tried')
    else await this.#search(readable, vector)
  }

  /** Returns the declared columns that the table has. */
  #compareColumns(schema: unknown, restrictions: readonly DeclaredColumns[]): VisibleColumns {
    const declared = new Map<string, ColumnType>()
    for (const { name, columns } of restrictions) {
      const { problems, present } = compareColumns(schema, columns)
      this.problems.push(...problems.map((problem) => `the restriction ${name} ${problem}`))
      for (const path of present) declared.set(path, columns.get(path) ?? 'other')
    }
    return declared
  }

  /** An upstream that filters after the search returns the nearest row only under the half that it is in. */
  async #search(columns: VisibleColumns, vector: VectorColumn): Promise<void> {
    if ((await this.#query(columns, 'false', vector)) > 0) {
      this.problems.push(
        'vector searches ignore the filter: with `false`, a search returns rows; callers would read hidden rows',
      )
      return
    }
    const base = `\`${vector.name}\` IS NOT NULL`
    const split = await findSplit(columns, base, (condition) =>
      this.#count(condition).catch(ignoreUnanswered),
    )
    if (split === undefined) {
      this.notes.push('no two rows differ in a declared number or text: vector searches were not tried')
      return
    }
    const found = await Promise.all(split.map((condition) => this.#query(columns, condition, vector)))
    if (found.every((rows) => rows > 0)) this.notes.push('vector searches respect it before they search')
    else
      this.problems.push(
        'vector searches ignore `prefilter`: they filter what they found, so hidden rows take the places of visible ones',
      )
  }

  /** Several queries may have the same problem. */
  #addProblem(problem: string): void {
    if (!this.problems.includes(problem)) this.problems.push(problem)
  }

  async #count(predicate: string | undefined): Promise<number> {
    const parsed = await this.#readJson(ownOperations.countRows, { predicate })
    const count = typeof parsed === 'number' ? parsed : getMembers(parsed)['count']
    if (typeof count !== 'number') throw new UnansweredError('CountTableRows returned no number')
    return count
  }

  /** Sends a query for one row as the gateway does under a restriction to these rows. Returns the number of rows. */
  async #query(columns: VisibleColumns, rows: string, search?: VectorColumn): Promise<number> {
    const numbers = Array.from({ length: search?.dimension ?? 0 }, () => 1)
    const query = {
      k: 1,
      vector: this.#isLancedb ? numbers : { single_vector: numbers },
      ...(search && { vector_column: search.name }),
    }
    const searched = search === undefined ? columns : new Map([...columns, [search.name, 'other'] as const])
    const restricted = restrictQuery(query, { columns: searched, rows, parts: [] }, this.#isLancedb)
    const { body } = await this.#read(ownOperations.queryTable, {
      ...query,
      ...Object.fromEntries(restricted.changes),
    })
    const unasked = createColumnsCheck(restricted.columns)(body)
    if (typeof unasked === 'object')
      this.#addProblem(`${unasked.problem}: the gateway refuses such a response with 502`)
    const found = countRows(body)
    if (found === undefined) throw new UnansweredError('QueryTable returned no Arrow')
    return found
  }

  async #readJson(operation: Operation, members: object): Promise<unknown> {
    const { body } = await this.#read(operation, members)
    try {
      return parseJsonBytes(body)
    } catch {
      throw new UnansweredError(`${operation.name} returned no JSON: the rest was not tried`)
    }
  }

  async #read(operation: Operation, members: object): Promise<BufferedResponse> {
    const response = await this.#client.call(operation, this.#id, members).catch((error: unknown) => {
      throw new UnansweredError(`${operation.name} got no response: ${toError(error).message}`)
    })
    const { status } = response
    if (status === 200) return response
    throw new UnansweredError(
      status === 404 && operation === ownOperations.describeTable
        ? 'it does not exist yet, or the gateway may not see it: nothing was tried'
        : `${operation.name} got status ${status}: the rest was not tried`,
    )
  }
}
