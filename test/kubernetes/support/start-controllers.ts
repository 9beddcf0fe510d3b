import { join } from 'node:path'
import { startDaemon } from './daemon.ts'
import { programFile } from './kubernetes-programs.ts'
import type { ApiServer } from './start-api-server.ts'

export interface Controllers {
  close(): Promise<void>
}

interface ControllerOptions {
  /** Whether pods are assigned to nodes; by default true. */
  readonly hasScheduler?: boolean
}

/** Starts the controllers of Kubernetes and its scheduler. */
export function startControllers(
  { kubeconfig, caFile, serviceAccountKeyFile, folder }: ApiServer,
  { hasScheduler = true }: ControllerOptions = {},
): Controllers {
  const usual = [`--kubeconfig=${kubeconfig}`, '--leader-elect=false', '--secure-port=0']
  const managerWords = [
    ...usual,
    `--service-account-private-key-file=${serviceAccountKeyFile}`,
    `--root-ca-file=${caFile}`,
    // The node sends no heartbeats.
    '--controllers=*,-node-lifecycle-controller,-taint-eviction-controller',
  ]
  const start = (name: 'kube-controller-manager' | 'kube-scheduler', words: readonly string[]) =>
    startDaemon(programFile(name), words, join(folder, `${name}.log`))
  const daemons = [
    start('kube-controller-manager', managerWords),
    ...(hasScheduler ? [start('kube-scheduler', usual)] : []),
  ]
  return {
    async close() {
      await Promise.all(daemons.map((daemon) => daemon.close()))
    },
  }
}
