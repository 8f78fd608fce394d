'use strict';
// Small projects of other languages, with nothing but their standard libraries and crates of their own.

const fs = require('node:fs');
const path = require('node:path');

/** File → text. */
const CARGO = {
  'Cargo.toml': `[package]
name = "app"
version = "0.1.0"
edition = "2021"
[dependencies]
part = { path = "part" }
[workspace]
members = ["part"]
`,
  'src/main.rs': `use std::{fs, io::{Read, Write}, os::unix::net::{UnixListener, UnixStream}, process::Command, thread};
fn main() {
    fs::create_dir_all("made/deep").unwrap();
    let threads: Vec<_> = (0..8).map(|i| thread::spawn(move || fs::write(format!("made/{i}"), part::text(i)).unwrap())).collect();
    for thread in threads { thread.join().unwrap(); }
    let listener = UnixListener::bind("made/socket").unwrap();
    let client = thread::spawn(|| UnixStream::connect("made/socket").unwrap().write_all(b"hello").unwrap());
    let mut text = String::new();
    listener.accept().unwrap().0.read_to_string(&mut text).unwrap();
    client.join().unwrap();
    fs::rename("made/deep", "made/moved").unwrap();
    fs::remove_file("made/socket").unwrap();
    println!("{} {text} {:?}", env!("BUILT"), Command::new("sh").args(["-c", "exit 7"]).status().unwrap().code());
}
`,
  'build.rs': `fn main() {
    std::fs::write(std::path::Path::new(&std::env::var("OUT_DIR").unwrap()).join("x"), "y").unwrap();
    println!("cargo:rustc-env=BUILT=yes");
}
`,
  'part/Cargo.toml': '[package]\nname = "part"\nversion = "0.1.0"\nedition = "2021"\n',
  'part/src/lib.rs': `pub fn text(i: usize) -> String { "x".repeat(i) }
#[test]
fn repeats() { std::fs::write("written-by-a-test", text(3)).unwrap(); assert_eq!(text(3), "xxx"); }
`,
};

/** File → text. */
const GO = {
  'go.mod': 'module example.com/app\n\ngo 1.19\n',
  'main.go': `package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"sync"

	"example.com/app/part"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	check(os.MkdirAll("made/deep", 0o755))
	var group sync.WaitGroup
	for i := 0; i < 8; i++ {
		group.Add(1)
		go func(i int) {
			defer group.Done()
			check(os.WriteFile(fmt.Sprintf("made/%d", i), []byte(part.Text(i)), 0o600))
		}(i)
	}
	group.Wait()
	for _, network := range []string{"tcp", "unix"} {
		address := map[string]string{"tcp": "127.0.0.1:0", "unix": "made/socket"}[network]
		listener, err := net.Listen(network, address)
		check(err)
		go func() {
			client, err := net.Dial(network, listener.Addr().String())
			check(err)
			fmt.Fprint(client, "hello")
			check(client.Close())
		}()
		side, err := listener.Accept()
		check(err)
		text, err := io.ReadAll(side)
		check(err)
		fmt.Println(network, string(text))
		check(listener.Close())
	}
	check(os.Rename("made/deep", "made/moved"))
	out, err := exec.Command("sh", "-c", "echo out; exit 7").CombinedOutput()
	fmt.Print(string(out), err, "\\n")
}
`,
  'part/part.go': 'package part\n\nimport "strings"\n\n// Text is long.\nfunc Text(i int) string { return strings.Repeat("x", i) }\n',
  'part/part_test.go': `package part

import (
	"os"
	"path/filepath"
	"testing"
)

func TestText(t *testing.T) {
	if err := os.WriteFile(filepath.Join(t.TempDir(), "x"), []byte(Text(3)), 0o600); err != nil || Text(3) != "xxx" {
		t.Fatal(err)
	}
}
`,
};

/** @param {string} folder @param {Record<string, string>} files */
function writeProject(folder, files) {
  for (const [name, text] of Object.entries(files)) {
    fs.mkdirSync(path.join(folder, path.dirname(name)), { recursive: true });
    fs.writeFileSync(path.join(folder, name), text);
  }
}

module.exports = { CARGO, GO, writeProject };
