import { describe, expect, it } from 'vitest'
import { errorCodes } from '../../src/catalog-api/catalog-error.ts'
import { getRequirements } from '../../src/catalog-api/requirements.ts'
import { getOperation, operationNames } from '../../src/catalog-api/operations.ts'
import { documentedCodes } from '../conformance/openapi-requirements.ts'
import { readJsonLines } from '../support/json-lines.ts'

interface Documented {
  readonly name: string
  readonly method: string
  readonly path: string
  /** Path of older clients, by which the request is forwarded. */
  readonly olderPath?: string
  readonly object: string
  readonly access: 'read' | 'write'
  readonly query: readonly string[]
  readonly required: readonly string[]
  readonly body: string
  readonly status: number
  readonly response: string
  /** Documented error codes; null if none are documented. */
  readonly errors: readonly number[] | null
}

/** Operations written by hand rather than derived from the table. */
const readDocumented = (file: string) =>
  readJsonLines(new URL(file, import.meta.url)) as readonly Documented[]

const ofInterface = readDocumented('documented-operations.jsonl')
/** As the remote clients of LanceDB 0.40 and 0.41 send them. */
const ofLancedb = readDocumented('lancedb-operations.jsonl')
const documented = [...ofInterface, ...ofLancedb]

/** Accepted although undocumented: the remote client of LanceDB sends it. */
const tolerated: Record<string, readonly string[]> = {
  AlterTableAddColumns: ['branch'],
  AnalyzeTableQueryPlan: ['distributed_metrics'],
  InsertIntoTable: ['upload_id', 'upload_part_id'],
  MergeInsertIntoTable: ['use_rte', 'use_lsm'],
}

describe('the operations table', () => {
  it('has exactly the 54 operations of the interface and 47 of LanceDB', () => {
    expect(ofInterface).toHaveLength(54)
    expect(ofLancedb).toHaveLength(47)
    expect([...operationNames].toSorted()).toEqual(documented.map(({ name }) => name).toSorted())
  })

  it.each(documented)('$name is as documented', (expected) => {
    const operation = getOperation(expected.name as (typeof operationNames)[number])
    const { olderPath, query, access, response, errors, ...same } = expected
    const served = [...operation.query.keys()].filter((name) => !tolerated[expected.name]?.includes(name))
    expect(operation).toMatchObject({ ...same, response })
    expect(operation.forwardsAliases ? operation.aliases[0] : undefined).toBe(olderPath)
    expect(operation.effect === 'read' ? 'read' : 'write').toBe(access)
    expect(served.toSorted()).toEqual(query.toSorted())
    if (errors === null) return
    expect(documentedCodes(operation)).toEqual(expect.arrayContaining([...errors]))
  })

  it('requires a permission for a fact in every operation that has it, if in any', () => {
    const conditions = operationNames.map(getOperation).flatMap((operation) =>
      getRequirements(operation)
        .filter(({ permission }) => permission !== operation.name)
        .flatMap(({ when }) => (when && 'fact' in when ? [when] : [])),
    )
    const missing = operationNames.map(getOperation).flatMap((operation) => {
      const { name, facts, modes } = operation
      const own = getRequirements(operation).map(({ when }) =>
        when && 'fact' in when ? when.fact : undefined,
      )
      return conditions
        .filter(({ fact }) => facts.some(([known]) => known === fact) && !own.includes(fact))
        .filter(({ fact, is }) => fact !== 'mode' || modes.some((mode) => mode.toLowerCase() === is))
        .map(({ fact }) => `${name}: ${fact}`)
    })
    // It requires ChooseLocation always.
    expect(new Set(missing)).toEqual(new Set(['RegisterTable: location']))
  })

  it('requires the permission of a change again if only a fact makes its branch unknown', () => {
    const changes = operationNames
      .map(getOperation)
      .filter(({ effect, unknownBranch }) => effect !== 'read' && unknownBranch !== undefined)
    for (const operation of changes.filter(({ unknownBranch }) => unknownBranch !== 'always')) {
      const again = getRequirements(operation).find(({ permission }) => permission === operation.name)
      expect(again?.when).toEqual({ fact: operation.unknownBranch })
    }
  })
})

describe('the error codes', () => {
  // In order of the code.
  const statuses = [406, 404, 409, 409, 404, 409, 404, 409, 404, 409, 404, 404].concat([
    404, 400, 409, 403, 401, 503, 500, 409, 400, 429, 404, 409,
  ])

  it('are the 24 of the interface with their statuses', () => {
    const sorted = Object.values(errorCodes).toSorted((one, other) => one.code - other.code)
    expect(sorted).toEqual(statuses.map((status, code) => ({ code, status })))
  })
})
