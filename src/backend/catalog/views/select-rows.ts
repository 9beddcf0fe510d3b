import { CatalogError, queryTableRequestSchema, type TableQuery } from 'catalog-gateway/catalog-api'
import type { ViewSelection } from '../../database/materialized-views.ts'
import { fileToStream } from '../../engine/arrow/arrow-file.ts'
import type { Reserve } from '../../engine/memory-budget.ts'
import type { CatalogContext } from '../context/catalog-context.ts'

/**
 * Returns the rows of a selection as one Arrow IPC stream. Calls `reserve` before each chunk is kept. Throws Unsupported
 * (406) above `maxBytes`.
 */
export async function selectRows(
  context: CatalogContext,
  location: string,
  version: number,
  selection: ViewSelection,
  maxBytes: number,
  reserve: Reserve,
): Promise<Uint8Array> {
  let length = 0
  return await collectStream(
    await context.engine.query(location, { ...toQuery(selection), version }),
    (bytes) => {
      length += bytes
      if (length > maxBytes) throw viewTooLargeError(maxBytes)
      reserve(bytes)
    },
  )
}

/** Returns the schema of a selection as an Arrow IPC stream without rows. Throws InvalidInput for wrong expressions. */
export async function selectSchema(
  context: CatalogContext,
  location: string,
  selection: ViewSelection,
): Promise<Uint8Array> {
  const query = toQuery(selection)
  // A query of the schema alone does not check its filter.
  await context.engine.plans.explain({ location }, query, false)
  return await collectStream(await context.engine.query(location, { ...query, k: 0 }))
}

function toQuery({ columns, filter, limit }: ViewSelection): TableQuery {
  return queryTableRequestSchema.parse({ columns, filter, k: limit })
}

async function collectStream(
  chunks: AsyncIterable<Uint8Array>,
  reserve: Reserve = () => {},
): Promise<Uint8Array> {
  const collected: Uint8Array[] = []
  for await (const chunk of chunks) {
    reserve(chunk.length)
    collected.push(chunk)
  }
  return fileToStream(Buffer.concat(collected))
}

function viewTooLargeError(maxBytes: number): CatalogError {
  return new CatalogError(
    'Unsupported',
    `the view has more than ${maxBytes} bytes; select fewer columns or rows, or set a limit`,
  )
}
