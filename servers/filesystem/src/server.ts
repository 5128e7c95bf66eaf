import { defineServer, type Server } from '@jackfield/sdk'
import { Access } from './access/access.ts'
import { type FilesystemOptions, settingsOf } from './options.ts'
import { files } from './resources.ts'
import { FileSubscriptions } from './subscriptions.ts'
import { deleteDirectory, deleteFile } from './tools/delete.ts'
import {
  directoryTree,
  getFileInfo,
  listAllowedDirectories,
  listDirectory,
  listDirectoryWithSizes,
} from './tools/list.ts'
import { readFile, readMediaFile, readMultipleFiles, readTextFile } from './tools/read.ts'
import { searchContent, searchFiles } from './tools/search.ts'
import type { ToolDependencies } from './tools/shared.ts'
import { createDirectory, editFile, moveFile, writeFile } from './tools/write.ts'

const instructions = `Reads, searches and changes files on this machine, within the allowed directories only: list_allowed_directories names them. They can change while you work.
Find files with search_files (names) and search_content (text), and read the part you need with head, tail or startLine. Results say when they are incomplete and how to continue.
Prefer edit_file to write_file for existing files; dryRun shows the difference. The person may be asked before something is replaced or deleted: if they decline, do not try again.`

/**
 * A server for files within a boundary: the given directories, narrowed by the roots of the client, or these roots alone.
 * @throws TypeError for an invalid option; Error if directories are given and none of them can be used
 */
export async function createFilesystemServer(options: FilesystemOptions = {}): Promise<Server> {
  const settings = await settingsOf(options)
  const access = new Access({
    configured: settings.configured,
    useRoots: settings.useRoots,
    onChange: () => server.changes.publish({ type: 'resources' }),
  })
  const dependencies: ToolDependencies = { settings, access }
  const server = defineServer({
    name: 'filesystem',
    version: '0.1.0',
    title: 'Filesystem',
    serverDescription: 'Files within allowed directories: reading, writing, editing and searching',
    instructions,
    use: [access.middleware],
    tools: {
      read_file: readFile(dependencies),
      read_text_file: readTextFile(dependencies),
      read_media_file: readMediaFile(dependencies),
      read_multiple_files: readMultipleFiles(dependencies),
      list_directory: listDirectory(dependencies),
      list_directory_with_sizes: listDirectoryWithSizes(dependencies),
      directory_tree: directoryTree(dependencies),
      search_files: searchFiles(dependencies),
      search_content: searchContent(dependencies),
      get_file_info: getFileInfo(dependencies),
      list_allowed_directories: listAllowedDirectories(dependencies),
      ...(settings.readOnly
        ? {}
        : {
            write_file: writeFile(dependencies),
            edit_file: editFile(dependencies),
            create_directory: createDirectory(dependencies),
            move_file: moveFile(dependencies),
            delete_file: deleteFile(dependencies),
            delete_directory: deleteDirectory(dependencies),
          }),
    },
    resources: { files: files(dependencies) },
  })
  const subscriptions = new FileSubscriptions(dependencies, server.changes)
  server.changes.subscribe = (filter, subscriber) => subscriptions.subscribe(filter, subscriber)
  return server
}
