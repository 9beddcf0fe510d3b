import { hash as computeHash } from 'node:crypto'

// The Merkle tree of RFC 6962, section 2.1, over the hashes of records. Hashes are lower-case hex.

const hashBytes = 32
const hashPattern = /^[0-9a-f]{64}$/

/** Reused input buffer: the tree of a seal computes two hashes per record. */
const leafInput = Buffer.alloc(1 + hashBytes, 0)
const nodeInput = Buffer.alloc(1 + 2 * hashBytes, 1)

/** Computes the root of a tree leaf by leaf. Memory grows with the logarithm of the number of leaves. */
export class MerkleRoot {
  /** At height h, the root of a complete tree of 2^h leaves if bit h of the leaf count is set. */
  readonly #roots: string[]
  #leaves: number

  /** Starts an empty tree, or copies `tree`. */
  constructor(tree?: MerkleRoot) {
    this.#roots = tree === undefined ? [] : [...tree.#roots]
    this.#leaves = tree === undefined ? 0 : tree.#leaves
  }

  get leaves(): number {
    return this.#leaves
  }

  add(hash: string): void {
    let root = hashLeaf(hash)
    let height = 0
    for (let left = this.#rootAt(0); left !== undefined; left = this.#rootAt(height)) {
      root = hashNode(left, root)
      height += 1
    }
    this.#roots[height] = root
    this.#leaves += 1
  }

  root(): string {
    let root: string | undefined
    for (let height = 0; height < this.#roots.length; height += 1) {
      const left = this.#rootAt(height)
      if (left !== undefined) root = root === undefined ? left : hashNode(left, root)
    }
    return root ?? computeHash('sha256', '')
  }

  #rootAt(height: number): string | undefined {
    return (this.#leaves >> height) & 1 ? this.#roots[height] : undefined
  }
}

/** Creates the audit paths of the given leaves; a leaf and its path suffice to compute the root. */
export function createMerklePaths(hashes: readonly string[], indices: readonly number[]): string[][] {
  const paths = indices.map((): string[] => [])
  let level = hashes.map(hashLeaf)
  let positions = [...indices]
  while (level.length > 1) {
    for (const [order, position] of positions.entries()) {
      const sibling = level[position ^ 1]
      if (sibling) paths[order]?.push(sibling)
    }
    level = computeParentLevel(level)
    positions = positions.map((position) => position >> 1)
  }
  return paths
}

/** Undefined if the path is invalid. */
export function computeRootFromPath(
  hash: string,
  index: number,
  leaves: number,
  path: readonly string[],
): string | undefined {
  if (index < 0 || index >= leaves) return undefined
  let root = hashLeaf(hash)
  let used = 0
  let position = index
  for (let width = leaves; width > 1; width = (width + 1) >> 1) {
    if ((position ^ 1) < width) {
      const sibling = path[used++]
      if (sibling === undefined || !hashPattern.test(sibling)) return undefined
      root = position % 2 === 1 ? hashNode(sibling, root) : hashNode(root, sibling)
    }
    position >>= 1
  }
  return used === path.length ? root : undefined
}

/** Computes the next level; a node without a sibling is promoted unchanged. */
function computeParentLevel(level: readonly string[]): string[] {
  const above: string[] = []
  for (let index = 0; index < level.length; index += 2) {
    const [left, right] = [level[index], level[index + 1]]
    if (left) above.push(right ? hashNode(left, right) : left)
  }
  return above
}

function hashLeaf(hash: string): string {
  leafInput.write(hash, 1, 'hex')
  return computeHash('sha256', leafInput)
}

function hashNode(left: string, right: string): string {
  nodeInput.write(left, 1, 'hex')
  nodeInput.write(right, 1 + hashBytes, 'hex')
  return computeHash('sha256', nodeInput)
}
