package completion

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// Candidate is a possible last word of a command line.
type Candidate struct{ Word, Help string }

// Files is the candidate for a file name, which the shell completes.
var Files = Candidate{Word: ":files"}

// Candidates returns the possible values of the last of the words after the command's name; that word may be
// empty. values returns those of an argument or a flag by its name ("crawl" …), nil if they are unknown.
func Candidates(app *kong.Application, words []string, values func(name string) []string) []Candidate {
	if len(words) == 0 {
		words = []string{""}
	}
	node, arguments := app.Node, 0
	var open *kong.Flag // takes the next word
	flags := true       // none follow "--"
	for _, w := range words[:len(words)-1] {
		switch {
		case open != nil:
			open = nil
		case flags && w == "--":
			flags = false
		case flags && strings.HasPrefix(w, "-") && len(w) > 1:
			if f := flagOf(node, w); f != nil && !f.IsBool() && !f.IsCounter() && !strings.Contains(w, "=") {
				open = f
			}
		default:
			if child := command(node, w); child != nil {
				node, arguments = child, 0
			} else {
				arguments++
			}
		}
	}
	last := words[len(words)-1]
	switch {
	case open != nil:
		return valuesOf(open.Value, last, values)
	case flags && strings.HasPrefix(last, "-"):
		if name, value, ok := strings.Cut(last, "="); ok {
			if f := flagOf(node, name); f != nil {
				return prefixed(name+"=", valuesOf(f.Value, value, values))
			}
			return nil
		}
		return flagsOf(node, last)
	case len(node.Children) > 0:
		return commands(node, last)
	case len(node.Positional) == 0:
		return nil
	}
	argument := node.Positional[min(arguments, len(node.Positional)-1)]
	if arguments >= len(node.Positional) && !argument.IsCumulative() {
		return nil
	}
	return valuesOf(argument, last, values)
}

func prefixed(prefix string, all []Candidate) []Candidate {
	for i := range all {
		if all[i] != Files {
			all[i].Word = prefix + all[i].Word
		}
	}
	return all
}

// command returns the command of that name below node.
func command(node *kong.Node, name string) *kong.Node {
	for _, child := range node.Children {
		if child.Name == name || slices.Contains(child.Aliases, name) {
			return child
		}
	}
	return nil
}

// flagOf returns the flag that a word names, of node or of a command above it.
func flagOf(node *kong.Node, word string) *kong.Flag {
	name, _, _ := strings.Cut(word, "=")
	for ; node != nil; node = node.Parent {
		for _, f := range node.Flags {
			if "--"+f.Name == name || f.Short != 0 && "-"+string(f.Short) == name {
				return f
			}
		}
	}
	return nil
}

func flagsOf(node *kong.Node, begin string) (all []Candidate) {
	for ; node != nil; node = node.Parent {
		for _, f := range node.Flags {
			if word := "--" + f.Name; !f.Hidden && strings.HasPrefix(word, begin) {
				all = append(all, Candidate{word, f.Help})
			}
		}
	}
	return all
}

func commands(node *kong.Node, begin string) (all []Candidate) {
	for _, child := range node.Children {
		if !child.Hidden && strings.HasPrefix(child.Name, begin) {
			all = append(all, Candidate{child.Name, child.Help})
		}
	}
	return all
}

// valuesOf returns the possible values of an argument or a flag.
func valuesOf(v *kong.Value, begin string, values func(string) []string) (all []Candidate) {
	words := values(v.Name)
	if v.Enum != "" {
		words = v.EnumSlice()
	}
	for _, w := range words {
		if strings.HasPrefix(w, begin) {
			all = append(all, Candidate{Word: w})
		}
	}
	// An argument that takes a file or something else has that name instead of such a type.
	if words == nil && (v.Name == "file" || slices.Contains([]string{"path", "existingfile", "existingdir"}, v.Tag.Type)) {
		return []Candidate{Files}
	}
	return all
}

// Print writes candidates in the form that the scripts read: one per line, with its help after a tab.
func Print(all []Candidate) string {
	var b strings.Builder
	for _, c := range all {
		help, _, _ := strings.Cut(c.Help, "\n")
		fmt.Fprintf(&b, "%s\t%s\n", c.Word, help)
	}
	return b.String()
}

// Shells lists the shells for which there is a Script.
var Shells = []string{"bash", "zsh", "fish"}

// Script returns the script that enables completion of forager in a shell.
func Script(shell string) (string, error) {
	s, ok := scripts[shell]
	if !ok {
		return "", fmt.Errorf("no completion for %q; there is one for %s", shell, strings.Join(Shells, ", "))
	}
	return s, nil
}

var scripts = map[string]string{
	"bash": `# bash completion of forager:  source <(forager completion bash)
_forager() {
  local word help
  COMPREPLY=()
  while IFS=$'\t' read -r word help; do
    if [ "$word" = ":files" ]; then
      compopt -o filenames 2>/dev/null
      mapfile -t COMPREPLY < <(compgen -f -- "${COMP_WORDS[COMP_CWORD]}")
      return
    fi
    COMPREPLY+=("$word")
  done < <("${COMP_WORDS[0]}" complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _forager forager
`,
	"zsh": `#compdef forager
# zsh completion of forager:  source <(forager completion zsh)
_forager() {
  local line
  local -a found
  for line in "${(@f)$(${words[1]} complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    [[ -z $line ]] && continue
    if [[ $line = :files* ]]; then
      _files
      return
    fi
    found+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
  done
  _describe forager found
}
compdef _forager forager
`,
	"fish": `# fish completion of forager:  forager completion fish | source
function __forager_complete
  set -l found (forager complete -- (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)
  if string match -q ':files*' -- $found[1]
    __fish_complete_path (commandline -ct)
  else
    printf '%s\n' $found
  end
end
complete -c forager -f -a '(__forager_complete)'
`,
}
