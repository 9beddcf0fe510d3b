import { join } from 'node:path'
import { startDaemon } from './daemon.ts'
import { programFile } from './kubernetes-programs.ts'
import type { ApiServer } from './start-api-server.ts'

/** Starts the controllers of Kubernetes: they create pods, which admission checks, and nothing runs them. */
export function startControllers({ kubeconfig, caFile, serviceAccountKeyFile, folder }: ApiServer) {
  const words = [
    `--kubeconfig=${kubeconfig}`,
    '--leader-elect=false',
    '--secure-port=0',
    `--service-account-private-key-file=${serviceAccountKeyFile}`,
    `--root-ca-file=${caFile}`,
  ]
  const name = 'kube-controller-manager'
  return startDaemon(programFile(name), words, join(folder, `${name}.log`))
}
