module example.org/external-runner

go 1.26.0

require github.com/drawbar/drawbar v0.0.0

// Remove this line in a module outside of Drawbar's repository, and require a version.
replace github.com/drawbar/drawbar => ../..
