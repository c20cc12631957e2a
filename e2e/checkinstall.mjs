// Holds the packages in node_modules against the lock file beside it: checkinstall.mjs DIR.
// `npm ci` would do so, but npm 11.12 and later refuse a lock file that lacks optional packages of other platforms.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const dir = process.argv[2]
const packages = (file) => JSON.parse(readFileSync(join(dir, file), 'utf8')).packages
const locked = packages('package-lock.json')
const installed = packages('node_modules/.package-lock.json')
const faults = []

for (const [path, { version, integrity, inBundle }] of Object.entries(installed)) {
  const want = locked[path]
  const onDisk = JSON.parse(readFileSync(join(dir, path, 'package.json'), 'utf8')).version
  if (!want) faults.push(`${path} ${version} is not in the lock file`)
  // A bundled package comes within another one, whose integrity covers it.
  else if (!(integrity || (inBundle && want.inBundle)) || want.integrity !== integrity) faults.push(`${path}: integrity ${integrity}, the lock file has ${want.integrity}`)
  else if (want.version !== version || onDisk !== version) faults.push(`${path}: version ${version}, ${onDisk} on disk, the lock file has ${want.version}`)
}
// An optional package of another platform is absent; each required one is there, and so is the native program of each agent.
for (const [path, { optional, os, cpu, libc }] of Object.entries(locked)) {
  if (path === '' || installed[path]) continue
  const glibc = process.platform !== 'linux' || process.report.getReport().header.glibcVersionRuntime !== undefined
  const here = os?.includes(process.platform) && cpu?.includes(process.arch) && (!libc || libc.includes(glibc ? 'glibc' : 'musl'))
  if (!optional || here) faults.push(`${path} is missing`)
}
if (faults.length > 0) {
  console.error(faults.map((f) => `e2e: ${f}`).join('\n'))
  process.exit(1)
}
