// The main program of the single executable. It unpacks the command once for each version into the user's cache folder,
// together with a copy of Node itself for the processes that the command starts, and runs it from there.
const fs = require('node:fs')
const os = require('node:os')
const { createRequire } = require('node:module')
const { dirname, join } = require('node:path')
const { getAsset, getRawAsset } = require('node:sea')
const { gunzipSync } = require('node:zlib')

/** After so many days without a run, another version is removed. */
const keptDays = 30
// In two parts: written out, it would be found in this program instead of in Node.
const fuse = ['NODE_SEA_FUSE', 'fce680ab2cc467b6e072b8b5df1996b2:1'].join('_')

const id = getAsset('id', 'utf8')
const cache = cacheFolder()
const folder = join(cache, id)
const complete = join(folder, 'complete')
if (!fs.existsSync(complete)) {
  unpack()
  removeOthers()
}
const now = new Date()
fs.utimesSync(complete, now, now)

process.execPath = join(folder, 'node')
process.argv.splice(0, 2, process.execPath, join(folder, 'node_modules/jackfield/bin/jackfield.js'))
createRequire(complete)('./start.cjs')

/** A folder that only this user can write to. */
function cacheFolder() {
  const own = process.env.XDG_CACHE_HOME || join(os.homedir(), '.cache')
  const problems = []
  for (const folder of [join(own, 'jackfield'), join(os.tmpdir(), `jackfield-${os.userInfo().uid}`)]) {
    try {
      fs.mkdirSync(folder, { recursive: true, mode: 0o700 })
      const { uid, mode } = fs.lstatSync(folder)
      if (uid !== os.userInfo().uid || (mode & 0o022) !== 0) throw new Error('others can write to it')
      fs.accessSync(folder, fs.constants.W_OK)
      return folder
    } catch (error) {
      problems.push(`${folder}: ${error.message}`)
    }
  }
  const where = problems.join('\n')
  process.stderr.write(
    `jackfield unpacks itself before its first run, and found no folder for it. Set XDG_CACHE_HOME.\n${where}\n`,
  )
  process.exit(2)
}

function unpack() {
  const draft = fs.mkdtempSync(join(cache, '.draft-'))
  try {
    const bytes = gunzipSync(Buffer.from(getRawAsset('archive')))
    const end = bytes.indexOf('\n')
    let at = end + 1
    for (const [path, size] of JSON.parse(bytes.subarray(0, end).toString())) {
      const file = join(draft, path)
      fs.mkdirSync(dirname(file), { recursive: true })
      fs.writeFileSync(file, bytes.subarray(at, at + size))
      at += size
    }
    const node = fs.readFileSync(process.execPath)
    const mark = node.indexOf(fuse)
    if (mark === -1) throw new Error('this executable was changed after it was built')
    node.write('0', mark + fuse.length - 1)
    fs.writeFileSync(join(draft, 'node'), node, { mode: 0o700 })
    fs.writeFileSync(join(draft, 'complete'), '')
    fs.renameSync(draft, folder)
  } catch (error) {
    fs.rmSync(draft, { recursive: true, force: true })
    // Another process unpacked the same meanwhile.
    if (fs.existsSync(complete)) return
    process.stderr.write(`jackfield cannot unpack itself to ${folder}: ${error.message}\n`)
    process.exit(2)
  }
}

function removeOthers() {
  for (const name of fs.readdirSync(cache)) {
    try {
      const mark = name.startsWith('.draft-') ? join(cache, name) : join(cache, name, 'complete')
      const age = Date.now() - fs.statSync(mark).mtimeMs
      if (name !== id && age > keptDays * 86_400_000) fs.rmSync(join(cache, name), { recursive: true })
    } catch {
      // In use, or not ours.
    }
  }
}
