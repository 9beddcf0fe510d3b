import { cpSync, mkdtempSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'

const leftOut: ReadonlySet<string> = new Set(['.git', 'node_modules', 'coverage', '.catalog-gateway'])

/** Copies the tree to a new temporary folder with shared packages; returns its path. */
export function copyTree(root: string): string {
  const copy = mkdtempSync(join(tmpdir(), 'mutation-'))
  cpSync(root, copy, { recursive: true, filter: (from) => !leftOut.has(basename(from)) })
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
  return copy
}
