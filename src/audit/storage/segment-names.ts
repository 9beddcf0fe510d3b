import { randomBytes } from 'node:crypto'
import { readdir } from 'node:fs/promises'

export interface ChainSegments {
  readonly chain: string
  /** Position of the chain among those of the folder; larger is newer, regardless of the clock. */
  readonly ordinal: number
  readonly segments: readonly string[]
}

const segmentNamePattern = /^((\d{8,})-[0-9a-f]{12})-(\d{4,})\.jsonl$/

/** Creates a chain id: the ordinal, so that names sort by age, and a random part that makes it unique. */
export function createChainId(ordinal: number): string {
  return `${String(ordinal).padStart(8, '0')}-${randomBytes(6).toString('hex')}`
}

/** Formats the file name of a segment; `index` counts from 0 within the chain. */
export function formatSegmentName(chain: string, index: number): string {
  return `${chain}-${String(index).padStart(4, '0')}.jsonl`
}

/** Compares the names of segments, or the ids of chains: negative if the first is older. They need not exist. */
export const { compare: compareByAge } = new Intl.Collator('en', { numeric: true })

/** Lists the chains of a folder, oldest first. Ignores other files. */
export async function listChains(folder: string): Promise<ChainSegments[]> {
  const chains = new Map<string, { ordinal: number; segments: { file: string; index: number }[] }>()
  for (const file of await readdir(folder)) {
    const [, chain, ordinal, index] = segmentNamePattern.exec(file) ?? []
    if (chain === undefined) continue
    const entry = chains.get(chain) ?? { ordinal: Number(ordinal), segments: [] }
    entry.segments.push({ file, index: Number(index) })
    chains.set(chain, entry)
  }
  return [...chains]
    .map(([chain, { ordinal, segments }]) => ({
      chain,
      ordinal,
      segments: segments.toSorted((a, b) => a.index - b.index).map(({ file }) => file),
    }))
    .toSorted((a, b) => a.ordinal - b.ordinal || (a.chain < b.chain ? -1 : 1))
}
